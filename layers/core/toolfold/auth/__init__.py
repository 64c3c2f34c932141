"""Who may call over HTTP: toolfold as an OAuth 2.1 resource server (MCP specification, "Authorization").

``resource_server`` answers requests without a valid token and serves the protected-resource metadata (RFC 9728),
``token_verifier`` checks a JSON Web Token (RFC 7519, RFC 9068), ``issuer_keys`` reads the issuer's keys (RFC 8414,
RFC 7517). May import ``protocol.http``, ``network``, ``settings`` and ``errors``. Imported only where an issuer is set.
"""

__all__ = ["issuer_keys", "resource_server", "token_verifier"]
