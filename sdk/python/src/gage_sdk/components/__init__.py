"""Code that runs inside a component: one module per kind, which imports the author's plugin.py and
defines the class for the exported interface.

Nothing here is imported outside a component, since the generated bindings exist only there.
"""
