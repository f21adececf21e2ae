// Passkeys: asks the server what to sign, the authenticator to sign it, and goes where the server says.
"use strict";

const place = document.getElementById("passkey");

function bytes(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (one) => one.charCodeAt(0));
}

function text(buffer) {
  const plain = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function ask(path, said) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ csrf: place.dataset.secret, next: place.dataset.next, ...said }),
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error_description);
  return told;
}

function signed(credential) {
  const response = {};
  const names = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  for (const name of names) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  return { id: credential.id, rawId: text(credential.rawId), type: credential.type, response };
}

async function register() {
  const options = await ask("/login/passkey/new", {});
  options.challenge = bytes(options.challenge);
  options.user.id = bytes(options.user.id);
  for (const one of options.excludeCredentials) one.id = bytes(one.id);
  const credential = await navigator.credentials.create({ publicKey: options });
  return ask("/login/passkey/keep", { credential: signed(credential) });
}

async function signIn() {
  const options = await ask("/login/passkey/ask", {});
  options.challenge = bytes(options.challenge);
  const credential = await navigator.credentials.get({ publicKey: options });
  return ask("/login/passkey/check", { credential: signed(credential) });
}

if (place && window.PublicKeyCredential) {
  const button = place.querySelector("button");
  const problem = place.querySelector("p");
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.textContent = "";
    try {
      const told = await (place.dataset.does === "register" ? register() : signIn());
      location.assign(told.next);
    } catch (error) {
      problem.textContent =
        error.name === "NotAllowedError" ? "That was cancelled, or took too long." : error.message;
      button.disabled = false;
    }
  });
  place.hidden = false;
}
