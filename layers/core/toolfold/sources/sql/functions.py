"""Functions that a statement may call, by the name that it writes. Every other name is refused.

Not among them is what reads or writes files (``pg_read_file``, ``lo_import``, ``load_extension``), connects elsewhere
(``dblink``), runs SQL in a text, which no guard has read (``query_to_xml``, ``ts_stat``), changes something
(``nextval``, ``set_config``, ``pg_notify``), says something about the server or its role (``version``,
``current_setting``), waits (``pg_sleep``, ``pg_advisory_lock``), or makes a long text of a short one (``repeat``,
``lpad``, ``zeroblob``, ``printf``).
"""

from __future__ import annotations

from toolfold.sqlite_sandbox import SAFE_FUNCTIONS


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


SQLITE_FUNCTIONS = SAFE_FUNCTIONS | _words(
    "json_group_object median percentile ceil ceiling floor trunc mod pow power sqrt exp ln log log2 log10 pi",
    "acos asin atan atan2 cos sin tan degrees radians concat concat_ws instr octet_length replace soundex unhex",
    "cast if likelihood timediff current_date current_time current_timestamp",
    # full-text search, spatial index
    "match regexp bm25 highlight snippet",
)

POSTGRESQL_FUNCTIONS = _words(
    # aggregates and windows
    "avg count max min sum array_agg string_agg bool_and bool_or every bit_and bit_or bit_xor any_value grouping",
    "json_agg jsonb_agg json_object_agg jsonb_object_agg range_agg range_intersect_agg",
    "corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy",
    "regr_syy stddev stddev_pop stddev_samp variance var_pop var_samp mode percentile_cont percentile_disc",
    "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number",
    # values and conditionals
    "cast coalesce nullif greatest least num_nonnulls num_nulls row",
    # numbers
    "abs cbrt ceil ceiling degrees div exp factorial floor gcd lcm ln log log10 mod pi pow power radians random round",
    "scale min_scale trim_scale sign sqrt trunc width_bucket",
    "acos asin atan atan2 cos cot sin tan acosd asind atand cosd sind tand sinh cosh tanh asinh acosh atanh",
    # texts
    "ascii btrim char_length character_length chr concat concat_ws initcap left length lower ltrim md5",
    "normalize octet_length bit_length overlay position quote_ident quote_literal quote_nullable regexp_count",
    "regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table",
    "regexp_substr replace reverse right rtrim split_part starts_with string_to_array string_to_table strpos",
    "substr substring to_ascii to_hex translate trim unistr upper similarity word_similarity unaccent levenshtein",
    "soundex metaphone encode decode get_byte get_bit sha224 sha256 sha384 sha512 crc32 crc32c",
    # dates
    "age date date_bin date_part date_trunc extract isfinite justify_days justify_hours justify_interval make_date",
    "make_interval make_time make_timestamp make_timestamptz now clock_timestamp statement_timestamp",
    "transaction_timestamp timezone to_char to_date to_number to_timestamp date_add date_subtract",
    "current_time current_timestamp localtime localtimestamp",  # with a precision
    # arrays, ranges and rows
    "array array_append array_cat array_dims array_length array_lower array_ndims array_position array_positions",
    "array_prepend array_remove array_replace array_sample array_shuffle array_to_string array_upper cardinality",
    "trim_array unnest generate_series generate_subscripts isempty lower_inc lower_inf upper_inc upper_inf",
    "range_merge int4range int8range numrange tsrange tstzrange daterange multirange",
    # JSON
    "to_json to_jsonb array_to_json row_to_json json_build_array jsonb_build_array json_build_object",
    "jsonb_build_object json_object jsonb_object json_array_elements jsonb_array_elements json_array_elements_text",
    "jsonb_array_elements_text json_array_length jsonb_array_length json_each jsonb_each json_each_text",
    "jsonb_each_text json_extract_path jsonb_extract_path json_extract_path_text jsonb_extract_path_text",
    "json_object_keys jsonb_object_keys json_typeof jsonb_typeof json_strip_nulls jsonb_strip_nulls jsonb_pretty",
    "jsonb_set jsonb_insert jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array",
    "jsonb_path_query_first json_to_record jsonb_to_record json_to_recordset jsonb_to_recordset",
    # full-text search
    "to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank ts_rank_cd ts_headline",
    "numnode querytree setweight strip tsvector_to_array get_current_ts_config",
    # geometry and PostGIS: measures and tests, no files and no rasters
    "area center diagonal diameter height isclosed isopen npoints radius width point box circle polygon",
    "st_area st_asgeojson st_astext st_centroid st_contains st_covers st_crosses st_distance st_dwithin st_envelope",
    "st_equals st_geomfromtext st_intersection st_intersects st_isvalid st_length st_makeenvelope st_makepoint",
    "st_overlaps st_point st_setsrid st_simplify st_srid st_touches st_transform st_within st_x st_y",
    # identifiers, networks, enumerations
    "gen_random_uuid uuidv7 uuid_extract_timestamp host network netmask broadcast family masklen abbrev",
    "enum_first enum_last enum_range",
    # types written as functions
    "bool char date float4 float8 int2 int4 int8 text timestamptz",
    # TimescaleDB
    "time_bucket first last histogram",
)

SESSION_WORDS = _words("current_catalog current_role current_schema current_user session_user system_user user")
"""Functions of PostgreSQL that are called without parentheses, and say something about the role or the server."""

WORDS_BEFORE_PARENTHESES = _words(
    # words of the grammar
    "all and any array as between by case cross cube distinct else end escape except exists fetch filter first from",
    "full group grouping having ilike in inner intersect interval is isnull join last lateral left like limit",
    "materialized natural next not notnull offset on or outer over overlaps partition range recursive regexp right",
    "rollup row rows select set sets similar some table tablesample then to union unique using values variadic when",
    "where window with within cast glob match collate symmetric asymmetric ordinality only",
    # methods of TABLESAMPLE
    "bernoulli system",
    # types with a length
    "bit char character datetime dec decimal double float int integer nchar numeric nvarchar real smallint bigint time",
    "timestamp timestamptz timetz varbit varchar varying precision zone",
)
"""Words that come before a parenthesis and are not the name of a function."""

EXTENSION_TYPES = _words("citext cube geography geometry halfvec hstore lquery ltree sparsevec vector")
"""Types of extensions: a table that has the name of one may be found before it."""

TYPES = frozenset(
    (
        *_words(
            "bool boolean int int2 int4 int8 integer smallint bigint real float float4 float8 numeric decimal dec",
            "money text varchar char character nchar bpchar name uuid bytea date time timetz timestamp timestamptz",
            "interval json jsonb jsonpath xml inet cidr macaddr macaddr8 point line lseg box path polygon circle",
            "bit varbit tsvector tsquery int4range int8range numrange tsrange tstzrange daterange oid regconfig",
            "int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange",
        ),
        *("double precision", "character varying", "char varying", '"char"'),
    )
)
"""Types of PostgreSQL to which a value may be cast. The name of a table is one, and ``regclass`` finds every table."""
