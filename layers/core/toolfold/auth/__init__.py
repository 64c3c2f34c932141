"""Who may call over HTTP: toolfold as an OAuth 2.1 resource server (MCP specification, "Authorization").

``factory`` makes the objects from the settings. ``resource_server`` answers requests without a valid token and serves
the protected-resource metadata (RFC 9728), ``token_verifier`` checks a JSON Web Token (RFC 7519, RFC 9068),
``issuer_keys`` caches the issuer's keys (RFC 7517), ``issuer_metadata`` reads its metadata (RFC 8414), ``cognito_shim``
adds what the metadata of Amazon Cognito lacks. May import ``protocol.http``, ``network``, ``settings`` and ``errors``.
Imported only where an issuer is set.
"""

__all__ = ["cognito_shim", "factory", "issuer_keys", "issuer_metadata", "resource_server", "token_verifier"]
