"""Making an answer fit: from the bytes an upstream sent to what a model reads. Imports no other room."""
