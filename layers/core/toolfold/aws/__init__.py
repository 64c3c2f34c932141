"""Clients of AWS services: ``clients`` (boto3), ``s3`` (obstore, for reads before the first response).

May import ``toolfold`` alone, for its version.
"""
