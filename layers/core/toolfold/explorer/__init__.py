"""The web explorer: a page that shows the catalog, and the JSON that the page reads.

``router`` finds what answers a path, ``access`` decides who may ask, ``static_files`` has the built page (``make ui``),
``explorer`` and ``page_request`` what a view gets, ``answers`` what it returns. ``views`` has one module for each JSON
resource, ``ui/api/NAME``, and the table of them; a view is a function ``respond``::

    def respond(explorer: Explorer, request: PageRequest) -> Response:
        return json_answer({"tools": len(explorer.app.catalog_store())})

It answers every method that its row in ``views.VIEWS`` has, reads ``request.query`` or ``request.json()``, and raises
:class:`~toolfold.explorer.answers.ApiProblem` or a :class:`~toolfold.errors.CallError` for what it refuses. The router
has checked access, method, media type and size before, and adds the headers that every answer has.

May import ``app`` and below. Only ``transports`` and ``cli.serve`` import it, where they use it: the first response of
a function whose explorer is off imports nothing of it.
"""

LOCAL_PORT = 8790
"""The port of ``toolfold ui``. Not that of ``toolfold serve``: both may run at the same time."""

__all__ = [
    "LOCAL_PORT",
    "access",
    "answers",
    "explorer",
    "feed",
    "local_page",
    "page_request",
    "paid_sources",
    "parameters",
    "router",
    "static_files",
    "views",
]
