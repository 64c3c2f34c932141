"""The web explorer: a page that shows the catalog, and the JSON that the page reads.

``router`` has the page of a local server: its access, paths and files. ``views`` has the table of the JSON resources,
``ui/api/NAME``, each a function of ``page.Explorer`` and the request; ``page`` reads parameters, and makes answers.
``sign_in_pages`` are pages of their own, on which callers sign in at sources: of a deployment, those alone are used.
"""
