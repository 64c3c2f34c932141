"""The web explorer: a page that shows the catalog, and the JSON that the page reads.

``router`` finds what answers a path, and has the files of the built page (``make ui``), ``access`` decides who may ask,
``page`` has what a view gets, and the answers. ``views`` has the table of the JSON resources, ``ui/api/NAME``; a view
is a function::

    def respond_tools(explorer: Explorer, request: PageRequest) -> Response:
        return json_answer({"tools": len(explorer.app.catalog_store())})

It answers every method that its row in ``views.VIEWS`` has, reads ``request.query`` or ``request.json()``, and raises
:class:`~toolfold.explorer.page.ApiProblem` or a :class:`~toolfold.errors.CallError` for what it refuses. The router has
checked access, method, media type and size before, and adds the headers that every answer has.

``sign_in_pages`` are pages of their own, on which callers sign in at sources.

Only ``transports`` and ``cli.serve`` import it, where they use it: of a deployment, its sign-in pages alone.
"""

LOCAL_PORT = 8790
"""The port of ``toolfold ui``. Not that of ``toolfold serve``: both may run at the same time."""
