"""The peers' servers: the smallest program of each library that serves the benchmark's tools."""
