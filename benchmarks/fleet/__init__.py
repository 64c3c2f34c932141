"""Several environments of the built function under the requests of several clients (``make load-lambda``)."""
