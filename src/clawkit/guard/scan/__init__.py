"""What hides in text: characters nobody sees, secrets, and orders meant for the model."""
