"""Clients of AWS services: ``clients`` (boto3; obstore for reads before the first response), and their HTTP session."""
