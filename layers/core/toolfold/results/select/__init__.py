"""The ``select`` argument of TOOL_CALL, which says what part of an answer to return.

``grammar`` reads the steps; ``engine`` applies them; see there.
"""
