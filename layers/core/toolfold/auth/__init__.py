"""Who may call over HTTP: toolfold as an OAuth 2.1 resource server (MCP specification, "Authorization").

``resource_server`` is made from the settings, answers requests without a valid token and serves the protected-resource
metadata (RFC 9728), ``token_verifier`` checks a JSON Web Token (RFC 7519, RFC 9068), ``issuer_keys`` reads the issuer's
metadata (RFC 8414) and caches its keys (RFC 7517), and ``CognitoShim`` adds what the metadata of Amazon Cognito lacks.
Imported only where an issuer is set.
"""
