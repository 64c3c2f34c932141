"""Clients of AWS services: ``clients`` (boto3; obstore for reads before the first response), ``http_session`` for them."""
