"""Source adapters: the code that reaches one kind of source, one folder for each kind.

``base`` is their interface, with the failures after which a call is repeated, and finds an adapter by its name.
"""
