"""`bciigl protocol list`."""

import json

from bciigl.protocol import shipped


def test_shipped_protocols_are_listed(bciigl):
    output = bciigl("protocol", "list").stdout
    assert all(name in output for name in shipped())
    assert "15.1 h" in output


def test_json_rows_have_what_a_script_needs(bciigl):
    rows = json.loads(bciigl("protocol", "list", "--json").stdout)
    assert [row["name"] for row in rows] == list(shipped())
    assert rows[0]["options"][-1] == "space"
