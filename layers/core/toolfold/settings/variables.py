"""Every setting: its variable, how it is parsed, its default and its meaning.

A test compares ``docs/reference/settings.md`` with :data:`VARIABLES`.
"""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a string.
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from toolfold.settings import parsers


class Variable(NamedTuple):
    """An environment variable.

    Attributes:
        parse: name and text → value.
        default: text used when the variable is not set.
        meaning: one sentence for the documentation and ``toolfold help settings``.
    """

    parse: Callable[[str, str], Any]
    default: str
    meaning: str


VARIABLES: Mapping[str, Variable] = {
    "TOOLFOLD_CATALOG": Variable(
        parsers.parse_text,
        "",
        "Location of the catalog: empty = the one in the package, a file path, or s3://bucket/prefix.",
    ),
    "TOOLFOLD_MODE": Variable(
        parsers.parse_mode,
        "",
        "What tools/list shows where the profile does not say: progressive (the default), lazy, grouped, direct, kinds "
        "or auto.",
    ),
    "TOOLFOLD_CONNECTOR_MODE": Variable(
        parsers.parse_kind_mode,
        "",
        "How tools of APIs are shown where the profile does not say: progressive (the default), inline = each by its "
        "own name, off = not exposed.",
    ),
    "TOOLFOLD_DATABASE_MODE": Variable(parsers.parse_kind_mode, "", "The same for tools of SQL databases."),
    "TOOLFOLD_MCP_MODE": Variable(parsers.parse_kind_mode, "", "The same for tools of MCP servers."),
    "TOOLFOLD_SKILL_MODE": Variable(parsers.parse_kind_mode, "", "The same for skills."),
    "TOOLFOLD_BATCH": Variable(
        parsers.parse_boolean, "true", "Whether TOOL_BATCH may be called; false switches it off for every profile."
    ),
    "TOOLFOLD_PIPE": Variable(parsers.parse_boolean, "true", "The same for TOOL_PIPE."),
    "TOOLFOLD_SCRIPTS": Variable(
        parsers.parse_boolean, "true", "The same for TOOL_SCRIPT, which needs the extra scripts besides."
    ),
    "TOOLFOLD_CATALOG_MAX_AGE_S": Variable(
        parsers.parse_positive, "60", "Seconds between checks for a newer catalog in S3."
    ),
    "TOOLFOLD_S3_TIMEOUT_S": Variable(
        parsers.parse_timeout,
        "5",
        "Seconds to read one part of the catalog from S3, or to save a long answer, retries included.",
    ),
    "TOOLFOLD_SOURCE_<ID>_URL": Variable(
        parsers.parse_text, "", "Base URL of a source, instead of its own; e.g. TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL."
    ),
    "TOOLFOLD_SOURCE_<ID>_KEY": Variable(
        parsers.parse_text, "", "API key of a source whose `auth.environment` has this name; read at each call."
    ),
    "TOOLFOLD_SOURCE_KEYS": Variable(
        parsers.parse_stored_keys,
        "",
        "Where the keys of further sources are in AWS: ARN of a secret, or ssm:/NAME of a parameter, that is a JSON "
        "object of source ID and key; used where the variable of a source is empty.",
    ),
    "TOOLFOLD_KEY_VARIABLES": Variable(
        parsers.parse_key_variables,
        "",
        "Further environment variables that a catalog may name for the key of a source, separated by commas; "
        "ID=NAME is for the source ID alone.",
    ),
    "TOOLFOLD_ALLOWED_HOSTS": Variable(
        parsers.parse_hosts,
        "",
        "Further hosts that a catalog may name for a source, separated by commas, each with :PORT if it is not 443; "
        "ID=HOST is for the source ID alone.",
    ),
    "TOOLFOLD_PRIVATE_HOSTS": Variable(
        parsers.parse_hosts,
        "",
        "Allowed hosts that may have an address in a private network, such as 10.0.0.8, separated by commas, in the "
        "same form.",
    ),
    "TOOLFOLD_ALLOWED_COMMANDS": Variable(
        parsers.parse_commands,
        "",
        "Commands that a catalog may start as MCP servers, separated by commas: the first words of each, such as "
        "`uvx mcp-server-time`; ID=WORDS is for the source ID alone. Not on Lambda.",
    ),
    "TOOLFOLD_CONNECT_TIMEOUT_S": Variable(parsers.parse_timeout, "5", "Seconds to wait for a connection to a source."),
    "TOOLFOLD_TIMEOUT_S": Variable(parsers.parse_timeout, "25", "Total seconds a request to a source may take."),
    "TOOLFOLD_DEADLINE_MARGIN_S": Variable(
        parsers.parse_timeout,
        "1",
        "On Lambda: seconds of the function's remaining time reserved for sending the response.",
    ),
    "TOOLFOLD_MAX_RESPONSE_BYTES": Variable(
        parsers.parse_positive_integer, "25000000", "Largest response read from a source, in bytes after decompression."
    ),
    "TOOLFOLD_CACHE": Variable(
        parsers.parse_cache,
        "",
        "Where responses are cached: empty or memory = in this process, off, dynamodb://table, or the path of a SQLite "
        "file. For stdio and the command line, empty means a file in the user's cache folder.",
    ),
    "TOOLFOLD_CACHE_BUCKET": Variable(
        parsers.parse_bucket, "", "With DynamoDB: s3://bucket/prefix for responses too large for the table."
    ),
    "TOOLFOLD_CACHE_MEMORY_BYTES": Variable(
        parsers.parse_positive_integer, "32000000", "Most memory used by cached responses, compressed, in bytes."
    ),
    "TOOLFOLD_CACHE_FILE_BYTES": Variable(
        parsers.parse_positive_integer, "256000000", "Largest size of a SQLite cache, in bytes."
    ),
    "TOOLFOLD_CACHE_TIMEOUT_S": Variable(
        parsers.parse_timeout, "0.3", "Seconds to wait for the shared cache: to connect, and for each response."
    ),
    "TOOLFOLD_CACHE_COOLDOWN_S": Variable(
        parsers.parse_positive, "30", "Seconds before a shared cache that failed is used again."
    ),
    "TOOLFOLD_STALE_IF_ERROR_S": Variable(
        parsers.parse_count,
        "86400",
        "Seconds after expiry during which a cached response is returned, marked as late, when the source fails; "
        "0 = never.",
    ),
    "TOOLFOLD_NO_DATA_TTL_S": Variable(parsers.parse_positive, "300", "Seconds a NO_DATA response is cached."),
    "TOOLFOLD_NEGATIVE_TTL_S": Variable(
        parsers.parse_positive, "300", "Seconds an INVALID_ARGUMENTS or PREMIUM_ONLY response of a source is cached."
    ),
    "TOOLFOLD_KEY_SALT": Variable(
        parsers.parse_encodable, "", "Salt of the hashes that stand for API keys in a shared cache."
    ),
    "TOOLFOLD_REQUESTS_PER_DAY": Variable(
        parsers.parse_optional_count,
        "",
        "Requests per API key and day; empty = no limit here, the source enforces its own.",
    ),
    "TOOLFOLD_REQUESTS_PER_SECOND": Variable(
        parsers.parse_optional_positive, "", "Requests per API key and second; empty = learned from the source."
    ),
    "TOOLFOLD_CALLS_PER_MINUTE": Variable(
        parsers.parse_optional_count, "", "Calls that one client may make in a minute; empty or 0 = no limit."
    ),
    "TOOLFOLD_CALLS_PER_DAY": Variable(
        parsers.parse_optional_count,
        "",
        "Calls of one client in a day (UTC) that are not answered from the cache; empty or 0 = no limit.",
    ),
    "TOOLFOLD_MAX_QUEUE_WAIT_S": Variable(
        parsers.parse_timeout, "3", "Most seconds a call waits because of a rate limit before it fails."
    ),
    "TOOLFOLD_QUOTA_RECHECK_S": Variable(
        parsers.parse_positive, "3600", "Seconds before an API key whose daily quota is used up is tried again."
    ),
    "TOOLFOLD_RETRIES": Variable(
        parsers.parse_count, "2", "Retries of a request that failed for a transient reason; 0 = none."
    ),
    "TOOLFOLD_RETRY_BACKOFF_S": Variable(
        parsers.parse_positive, "0.3", "Seconds before the first retry; doubled before each further one."
    ),
    "TOOLFOLD_BREAKER_FAILURES": Variable(
        parsers.parse_positive_integer,
        "5",
        "Consecutive failures after which calls to a source are stopped for a while.",
    ),
    "TOOLFOLD_BREAKER_COOLDOWN_S": Variable(
        parsers.parse_positive, "30", "Seconds before a failing source is tried again."
    ),
    "TOOLFOLD_SECRET_TTL_S": Variable(parsers.parse_positive, "300", "Seconds an API key read from AWS is cached."),
    "TOOLFOLD_SECRET_TIMEOUT_S": Variable(
        parsers.parse_timeout, "2", "Seconds to wait for AWS when an API key is read: to connect, and for the response."
    ),
    "TOOLFOLD_MAX_TOKENS": Variable(
        parsers.parse_positive_integer,
        "8000",
        "Tokens above which a model gets a preview of an answer, unless the call sets more.",
    ),
    "TOOLFOLD_MAX_TOKENS_CEILING": Variable(
        parsers.parse_positive_integer, "50000", "Most tokens that a call may request with max_tokens."
    ),
    "TOOLFOLD_OFFLOAD": Variable(
        parsers.parse_offload,
        "",
        "Where the full text of a long answer is saved: s3://bucket/prefix, a folder, or off. For stdio and the "
        "command line, empty means a folder in the user's cache folder; elsewhere it means off.",
    ),
    "TOOLFOLD_PRESIGNED_URL_TTL_S": Variable(
        parsers.parse_presigned_url_ttl,
        "3600",
        "Seconds a link to a long answer in S3 is valid, at most 86400 and until the credentials that sign it end.",
    ),
    "TOOLFOLD_LOG_LEVEL": Variable(
        parsers.parse_log_level, "INFO", "Lowest level that the HTTP server logs: DEBUG, INFO, WARNING or ERROR."
    ),
    "TOOLFOLD_CALL_LOG": Variable(
        parsers.parse_text,
        "",
        "File to which stdio, the local server and the command line append a line for each request and call, without "
        "arguments and answers, for `toolfold stats`; empty = none.",
    ),
    "TOOLFOLD_TRACE": Variable(parsers.parse_boolean, "false", "On Lambda: whether to record traces with AWS X-Ray."),
    "TOOLFOLD_ALLOW_KEY_IN_QUERY": Variable(
        parsers.parse_boolean, "false", "Whether requests may carry the API key in the URL, as ?apikey=."
    ),
    "TOOLFOLD_ALLOWED_ORIGINS": Variable(
        parsers.parse_origins,
        "",
        "Web origins that may call over HTTP, separated by commas; * allows every origin but null.",
    ),
    "TOOLFOLD_OAUTH_ISSUER": Variable(
        parsers.parse_https_url,
        "",
        "Over HTTP: issuer whose access tokens callers must send; empty = no tokens are required.",
    ),
    "TOOLFOLD_OAUTH_AUDIENCE": Variable(
        parsers.parse_text, "", "What the tokens must name as their audience; empty = the value of TOOLFOLD_PUBLIC_URL."
    ),
    "TOOLFOLD_OAUTH_CLIENT_IDS": Variable(
        parsers.parse_comma_separated,
        "",
        "Clients of the issuer whose tokens are accepted, separated by commas; empty = all. Required where tokens have "
        "no audience, as those of Amazon Cognito.",
    ),
    "TOOLFOLD_OAUTH_SCOPE_PREFIX": Variable(
        parsers.parse_text,
        "",
        "What the issuer writes before tools:read and the other scopes, e.g. the id of its resource server.",
    ),
    "TOOLFOLD_OAUTH_PREMIUM_SCOPE": Variable(
        parsers.parse_boolean, "false", "Whether tools that need a premium plan need the scope tools:premium too."
    ),
    "TOOLFOLD_OAUTH_COGNITO_CLIENT": Variable(
        parsers.parse_text,
        "",
        "Public client of an Amazon Cognito user pool that registration returns to every client; empty = no "
        "registration here.",
    ),
    "TOOLFOLD_OAUTH_REDIRECT_URIS": Variable(
        parsers.parse_redirect_uris,
        "",
        "Redirect URIs of that client, separated by commas; no other can be registered.",
    ),
    "TOOLFOLD_PUBLIC_URL": Variable(
        parsers.parse_https_url, "", "URL of the MCP endpoint as its clients know it; required with an issuer."
    ),
    "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": Variable(
        parsers.parse_boolean,
        "false",
        "Whether callers from other machines may use a key set here although no issuer checks who they are.",
    ),
    "TOOLFOLD_APPROVE": Variable(
        parsers.parse_approve,
        "agent",
        "Who approves calls of destructive tools and of tools with `confirm`: agent = the caller, who repeats the call "
        "with its token; human = a person with `toolfold approve`; deny = all are refused.",
    ),
    "TOOLFOLD_APPROVAL_SECRET": Variable(
        parsers.parse_approval_secret,
        "",
        "Secret that signs approval tokens, or the ARN of one in AWS; required with DynamoDB. Elsewhere, empty means a "
        "generated one.",
    ),
    "TOOLFOLD_APPROVAL_TTL_S": Variable(
        parsers.parse_approval_ttl, "600", "Seconds in which a call must be approved and repeated; 10 to 86400."
    ),
    "TOOLFOLD_AUDIT_FILE": Variable(
        parsers.parse_text,
        "",
        "File to which a line of JSON is appended for each call; empty = none. On Lambda the log has them.",
    ),
    "TOOLFOLD_EXPLORER": Variable(
        parsers.parse_explorer,
        "off",
        "On Lambda: the web explorer, at /. off = not served; read-only = it shows the catalog; calls = it calls tools "
        "too, which needs an issuer.",
    ),
    "TOOLFOLD_IGNORED_VARIABLES": Variable(
        parsers.parse_names,
        "",
        "Variables named TOOLFOLD_… that are not settings, separated by commas, NAME or NAME*; any other is an error.",
    ),
}
"""Name → how it is parsed, its default and its meaning.

25 s is below the 30 s after which an API Gateway HTTP API gives up. 25 MB holds the longest histories of the catalog's
sources; what a model gets of a response is limited by ``TOOLFOLD_MAX_TOKENS``.
"""
