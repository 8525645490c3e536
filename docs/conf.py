"""How Sphinx builds the documentation: offline, and complete in itself."""

import os
import sys
from pathlib import Path

# One thread for each example: two of them run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import bciigl

project = "bciigl"
author = copyright = "The bciigl developers"
version = release = bciigl.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "browser_math",
    "protocol_fields",
    "repository_files",
]
exclude_patterns = ["_build", "_templates", "gallery"]
templates_path = ["_templates"]
default_role = "py:obj"
# All links lead somewhere. In Python's docstrings what is in backticks may be a parameter.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!bciigl\.(api\.)?\w+$).*")]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold a function

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# The API
autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings, in words
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # by the template, without those of pydantic and scikit-learn

ORDER = (
    "first_session time_course region response patterns rewards verdict noise_normalisation "
    "designs plan sweep own_protocol adaptive_agent recorded_arrays custom_learner custom_agent"
).split()
# The gallery, which is run in each build: what fails there fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("bciigl",),
    "filename_pattern": "/plot_",
    "within_subsection_order": lambda file: ORDER.index(file[5:-3]),
    "matplotlib_animations": False,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": ("_repr_html_",),
    "parallel": 2,
    "write_computation_times": False,
}

# Prompts and what is printed are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "bciigl"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "bciigl"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "light"}
html_sidebars = {"index": [], "getting_started": [], "limits": [], "citing": [], "changelog": []}
