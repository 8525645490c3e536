"""What the participant reads."""

import re

import pytest
from pydantic import ValidationError

from bciigl.protocol import Protocol, check, dump, load
from bciigl.protocol.screen import (
    PLACEHOLDERS,
    TEXTS,
    contrast,
    image_type,
    placeholder_values,
    say,
    screen_findings,
    texts,
)
from bciigl.protocol.validation import validate

LANGUAGES = ("en", "de", "fr", "es")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def build(**sections) -> Protocol:
    task = {"options": [7, 8, 9], **sections.pop("task", {})}
    return Protocol.model_validate({"name": "x", "task": task, **sections})


def told(**screen) -> str:
    data = {"name": "x", "task": {"options": [7, 8, 9, "house"]}, "screen": screen}
    _, findings = validate(data)
    return "\n".join(f"{'.'.join(each.path)}: {each.message}" for each in findings)


DESIGNS = {
    "in thought": build(),
    "by key": build(human={"key_press": True}),
    "together": build(timing={"together": True}),
    "together by key": build(timing={"together": True}, human={"key_press": True}),
    "not seen first": build(task={"events": ["imagination", "judgment"]}),
    "not judged": build(task={"events": ["imagination", "perception"]}),
    "catch": build(task={"catch": {"share": 0.2}}),
}


def test_every_language_has_every_text_for_every_design():
    seen = set()
    for design in DESIGNS.values():
        for language in LANGUAGES:
            screen = design.screen.model_copy(update={"language": language})
            protocol = design.model_copy(update={"screen": screen})
            used = texts(protocol)
            assert tuple(used) == (*TEXTS, "part")
            assert all(used.values())
            seen.add(used["instructions"])
            # what the package says is what a protocol may say
            alone = {name: used[name] for name in TEXTS if name not in ("guess", "judge")}
            own = screen.model_copy(update=alone)
            assert not list(screen_findings(protocol.model_copy(update={"screen": own})))
            values = placeholder_values(protocol)
            assert "{" not in say(used["instructions"], **values)
            assert "{" not in say(used["judge"], option=7, **values)
    assert len(seen) == len(LANGUAGES) * 6  # without perception guesses are judged when seen, too


def test_instructions_fit_the_experiment():
    said = {
        name: say(texts(each)["instructions"], **placeholder_values(each))
        for name, each in DESIGNS.items()
    }
    assert all("7, 8, 9" in each for each in said.values())
    assert "decide in your mind whether the guess was right" in said["in thought"]
    assert "press 1 if the guess was right, 2 if it was wrong" in said["by key"]
    assert "in your mind at once" in said["together"]
    assert "Press 1 at once if it is right, 2" in said["together by key"]
    assert "asked, decide" not in said["together"] + said["not seen first"]
    assert not re.search("right|wrong|decide|press", said["not judged"])
    assert "told which one" in said["catch"]
    assert "told which one" not in said["in thought"]
    for each in said.values():
        assert 5 <= len(re.findall(r"[.?!](\s|$)", each)) <= 6
    assert "press" not in said["in thought"].lower()


def test_a_guess_that_is_judged_at_once_is_seen_with_the_question():
    for name in ("together", "not seen first"):
        used = texts(DESIGNS[name])
        assert used["guess"] == used["judge"] == "Guess: {option}\nRight or wrong?"
    used = texts(DESIGNS["by key"])
    assert used["judge"] == "Right: {match_key}\nWrong: {mismatch_key}"
    assert texts(DESIGNS["not judged"])["guess"] == "Guess: {option}"


def test_a_protocol_s_own_words_are_used():
    own = {name: f"{name} {{trial}} {{option}}" for name in ("imagine_cued", "guess", "judge")}
    own |= {"instructions": "Just {options}.", "rest": "", "language": "de"}
    used = texts(build(screen=own))
    assert {name: used[name] for name in own if name != "language"} == {
        name: text for name, text in own.items() if name != "language"
    }
    assert used["imagine"] == "Vorstellen"


def test_placeholders_are_replaced_once_and_nothing_else_is():
    assert say("{option} of {options}", option="{run}", options="7, {option}", run=3) == (
        "{run} of 7, {option}"
    )
    for text in ("{", "}", "{}", "{{run}", "{run.__class__}", "{run!r}", "{0}", "{run:>99}", "\\1"):
        assert say(text, run=3) in (text, "{3")
    assert say("{option}: {trial}", option="\\g<0>") == "\\g<0>: {trial}"


@pytest.mark.parametrize(
    ("screen", "message"),
    [
        ({"rest": "{runn}"}, "screen.rest: unknown placeholder {runn}; did you mean '{run}'?"),
        ({"rest": "{zebra}"}, "screen.rest: unknown placeholder {zebra}; known here: {options}, "),
        ({"rest": "{runs"}, "screen.rest: a brace is not part of a placeholder; known here: "),
        ({"guess": "{option} {}"}, "screen.guess: a brace is not part of a placeholder"),
        ({"judge": "{option.real}"}, "screen.judge: a brace is not part of a placeholder"),
        ({"imagine": "{option}"}, "screen.imagine: {option} is not known when this is shown"),
        ({"guess": "Seven!"}, "screen.guess: should have {option}"),
        ({"imagine_cued": ""}, "screen.imagine_cued: should have {option}"),
        ({"imagine": "x" * 201}, "screen.imagine: should have at most 200 characters"),
        ({"rest": "x" * 2001}, "screen.rest: should have at most 2000 characters"),
        ({"rest": "\x07"}, "screen.rest: should hold no control characters"),
        ({"language": "it"}, "screen.language: should be 'en', 'de', 'fr' or 'es'"),
        ({"background": "red"}, "screen.background: should "),
        ({"background": "#00000g"}, "screen.background: should be a colour such as '#000000'"),
        ({"images": {"hous": "a.png"}}, "screen.images.hous: is not an option; did you mean 'hous"),
        ({"images": {"6": "a.png"}}, "screen.images.6: is not an option; options are 7, 8, 9, hou"),
        ({"images": {"7": "a.svg"}}, "screen.images.7: should be a file .png, .jpg or .gif, got"),
        ({"font_size": 50}, "screen.font_size: should be less than or equal to 40"),
    ],
)
def test_what_cannot_be_shown_is_refused(screen, message):
    assert told(**screen).startswith(message)


def test_all_placeholders_can_be_used():
    everything = " ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    build(screen=dict.fromkeys(("imagine_cued", "guess", "judge"), everything))
    others = everything.replace("{option} ", "")
    build(screen=dict.fromkeys(set(TEXTS) - {"imagine_cued", "guess", "judge"}, others))


def test_letters_that_are_hard_to_read_are_warned_of(write):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert contrast("#123456", "#123456") == 1
    text = "name: x\ntask: {options: [7, 8, 9]}\nscreen: {text_colour: '#333333'}\n"
    (warning,) = check(write(text)).warnings
    assert warning.path == "screen.text_colour"
    assert "a contrast of 1.7, where WCAG asks for 4.5 or more" in warning.message
    assert not check("number_guessing").warnings


def test_images_must_be_there_and_be_images(write, tmp_path):
    text = "name: x\ntask: {options: [7, 8, 9]}\nscreen: {images: {7: a.png, 8: b.GIF, 9: c.jpg}}\n"
    path = write(text)
    (path.parent / "a.png").write_bytes(PNG)
    (path.parent / "b.GIF").write_text("<svg/>")
    problems = check(path).problems
    assert [(each.path, each.message) for each in problems] == [
        ("screen.images.8", "is not a PNG, JPEG or GIF file: 'b.GIF'"),
        ("screen.images.9", "no such file: 'c.jpg'"),
    ]
    (path.parent / "b.GIF").write_bytes(b"GIF89a")
    (path.parent / "c.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    protocol = load(path)
    assert protocol.screen.images == {"7": "a.png", "8": "b.GIF", "9": "c.jpg"}
    kinds = [image_type(path.parent / file) for file in protocol.screen.images.values()]
    assert kinds == ["image/png", "image/gif", "image/jpeg"]


def test_words_and_images_survive_a_trip_through_yaml(write):
    options = ["?x", "7", "no", "a: b", "#c", "{d}", "[e]", "- f", "'g", '"h"', "null", "&i"]
    screen = {
        "instructions": "One.\n\n  Two: {options}\n# three\n",
        "goodbye": "",
        "paused": "null",
        "images": {option: "a.png" for option in options},
    }
    protocol = build(task={"options": options, "trials": 5000}, screen=screen)
    path = write(dump(protocol))
    (path.parent / "a.png").write_bytes(PNG)
    assert load(path) == protocol


def test_a_screen_cannot_be_changed():
    with pytest.raises(ValidationError):
        build().screen.language = "de"
