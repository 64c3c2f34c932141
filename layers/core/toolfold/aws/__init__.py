"""Clients of AWS services: ``clients`` (boto3; obstore for reads before the first response) with an ``http_session``."""
