"""What a first request to each AWS service costs a fresh process: imports, client and request."""
