"""One call, from the arguments a model sent to an answer or an error it can read.

``caller`` checks arguments (``validate``), finds the key (``keys``, ``secrets``) and hands over to ``keeper``.
That looks the call up in the ``cache``, joins it to an equal one (``single_flight``), or makes it: ``requesting``
waits for the turn of the key (``limits``), sends, reads what came (``faults``) and tries again where that may help;
``breaker`` leaves a failing source alone. ``identity`` names calls and keys by hashes; ``ttl`` says how long an
answer is good, ``new_york`` what time it is there; ``entry`` is one held answer as bytes; ``places`` is where it is
held: memory, ``sqlite_file``, ``dynamodb``. ``story`` is the line in the log.

Only ``caller``, ``keys`` and ``validate`` are imported before the first call. May import ``catalog.model`` and
``backends``; the type that flows out is :class:`toolfold.execution.result.CallResult`.
"""
