"""How does a person see it? Figures, and reports as pages.

`bciigl.report(...)`, called, is `bciigl.api.report`.
"""

import sys

from bciigl.base.callable_package import CallablePackage

sys.modules[__name__].__class__ = CallablePackage
