"""Who may call over HTTP: toolfold as an OAuth 2.1 resource server (MCP specification, "Authorization").

``resource_server`` answers requests without a valid token, ``token_verifier`` checks one (RFC 7519, RFC 9068), and
``issuer_keys`` reads what the issuer publishes (RFC 8414, RFC 7517). Imported only where an issuer is set.
"""
