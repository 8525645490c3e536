"""What the participant reads: texts in several languages, and their placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bciigl.base.errors import did_you_mean
from bciigl.protocol.design_checks import Finding

if TYPE_CHECKING:
    from bciigl.protocol.model import Protocol

TEXTS = ("instructions", "imagine", "imagine_cued", "guess", "judge", "rest", "goodbye", "paused")
"""The texts of a protocol's screen."""

PLACEHOLDERS = (
    "option",
    "options",
    "run",
    "runs",
    "trial",
    "trials",
    "match_key",
    "mismatch_key",
)
"""What can stand in braces in a text."""

IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
"""Kinds of image files that browsers show, by suffix."""

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
_SIGNATURES |= {b"GIF87a": "image/gif", b"GIF89a": "image/gif"}
_OF_ONE_OPTION = ("imagine_cued", "guess", "judge")

# Instructions are put together from the sentences that fit the protocol, so that none is wrong.
_LANGUAGES = {
    "en": {
        "part": "Part {run} of {runs}",
        "imagine": "Imagine",
        "imagine_cued": "Imagine: {option}",
        "guess": "Guess: {option}",
        "judge": "Right or wrong?",
        "judge, keys": "Right: {match_key}\nWrong: {mismatch_key}",
        "rest": "You can rest now.\nPlease keep your head still.\nThe next part begins soon.",
        "goodbye": "That was all. Thank you!\nPlease lie still until someone comes to you.",
        "paused": "A short break.\nPlease keep your head still.",
        "still": "Please lie still and look at the cross in the middle.",
        "choose": "When you are asked to imagine, picture one of these in your mind: {options}. "
        "Choose freely each time.",
        "cued": "Sometimes you are told which one.",
        "seen": "A few seconds later you see a guess.",
        "later": "When you are asked, decide in your mind whether the guess was right or wrong.",
        "later, keys": "When you are asked, press {match_key} if the guess was right, "
        "{mismatch_key} if it was wrong.",
        "at once": "Decide in your mind at once whether it is right or wrong.",
        "at once, keys": "Press {match_key} at once if it is right, {mismatch_key} if it is wrong.",
        "only seen": "Just look at it; there is nothing else to do.",
    },
    "de": {
        "part": "Teil {run} von {runs}",
        "imagine": "Vorstellen",
        "imagine_cued": "Vorstellen: {option}",
        "guess": "Geraten: {option}",
        "judge": "Richtig oder falsch?",
        "judge, keys": "Richtig: {match_key}\nFalsch: {mismatch_key}",
        "rest": "Sie können sich jetzt ausruhen.\nBitte halten Sie den Kopf ruhig.\n"
        "Der nächste Teil beginnt bald.",
        "goodbye": "Das war alles. Vielen Dank!\nBitte bleiben Sie ruhig liegen, bis jemand zu "
        "Ihnen kommt.",
        "paused": "Eine kurze Pause.\nBitte halten Sie den Kopf ruhig.",
        "still": "Bitte liegen Sie still und schauen Sie auf das Kreuz in der Mitte.",
        "choose": "Wenn Sie dazu aufgefordert werden, stellen Sie sich eine dieser Möglichkeiten "
        "vor: {options}. Wählen Sie jedes Mal frei.",
        "cued": "Manchmal wird Ihnen gesagt, welche.",
        "seen": "Einige Sekunden später sehen Sie, was geraten wurde.",
        "later": "Wenn Sie gefragt werden, entscheiden Sie in Gedanken, ob richtig oder falsch "
        "geraten wurde.",
        "later, keys": "Wenn Sie gefragt werden, drücken Sie {match_key}, wenn richtig geraten "
        "wurde, und {mismatch_key}, wenn falsch geraten wurde.",
        "at once": "Entscheiden Sie sofort in Gedanken, ob es richtig oder falsch ist.",
        "at once, keys": "Drücken Sie sofort {match_key}, wenn es richtig ist, und "
        "{mismatch_key}, wenn es falsch ist.",
        "only seen": "Schauen Sie es einfach an; mehr ist nicht zu tun.",
    },
    "fr": {
        "part": "Partie {run} sur {runs}",
        "imagine": "Imaginez",
        "imagine_cued": "Imaginez\u00a0: {option}",
        "guess": "Réponse\u00a0: {option}",
        "judge": "Juste ou faux\u00a0?",
        "judge, keys": "Juste\u00a0: {match_key}\nFaux\u00a0: {mismatch_key}",
        "rest": "Vous pouvez vous reposer.\nGardez la tête immobile, s'il vous plaît.\n"
        "La suite commence bientôt.",
        "goodbye": "C'est terminé. Merci beaucoup\u00a0!\nRestez immobile jusqu'à ce que quelqu'un "
        "vienne vous voir, s'il vous plaît.",
        "paused": "Une courte pause.\nGardez la tête immobile, s'il vous plaît.",
        "still": "Veuillez ne pas bouger et regarder la croix au centre.",
        "choose": "Quand on vous le demande, imaginez l'une de ces possibilités\u00a0: {options}. "
        "Choisissez librement à chaque fois.",
        "cued": "Parfois, on vous dira laquelle.",
        "seen": "Quelques secondes plus tard, vous voyez une réponse qui tente de la deviner.",
        "later": "Quand on vous le demande, décidez dans votre tête si la réponse était juste ou "
        "fausse.",
        "later, keys": "Quand on vous le demande, appuyez sur {match_key} si la réponse était "
        "juste, sur {mismatch_key} si elle était fausse.",
        "at once": "Décidez aussitôt dans votre tête si elle est juste ou fausse.",
        "at once, keys": "Appuyez aussitôt sur {match_key} si elle est juste, sur {mismatch_key} "
        "si elle est fausse.",
        "only seen": "Regardez-la simplement\u00a0; il n'y a rien d'autre à faire.",
    },
    "es": {
        "part": "Parte {run} de {runs}",
        "imagine": "Imagine",
        "imagine_cued": "Imagine: {option}",
        "guess": "Respuesta: {option}",
        "judge": "¿Correcto o incorrecto?",
        "judge, keys": "Correcto: {match_key}\nIncorrecto: {mismatch_key}",
        "rest": "Ahora puede descansar.\nPor favor, no mueva la cabeza.\n"
        "La siguiente parte empezará pronto.",
        "goodbye": "Eso es todo. ¡Muchas gracias!\nPor favor, no se mueva hasta que venga alguien.",
        "paused": "Una breve pausa.\nPor favor, no mueva la cabeza.",
        "still": "Por favor, no se mueva y mire la cruz del centro.",
        "choose": "Cuando se le pida, imagine una de estas posibilidades: {options}. Elija "
        "libremente cada vez.",
        "cued": "A veces se le dirá cuál.",
        "seen": "Unos segundos después verá una respuesta que intenta adivinarla.",
        "later": "Cuando se le pregunte, decida mentalmente si la respuesta era correcta o "
        "incorrecta.",
        "later, keys": "Cuando se le pregunte, pulse {match_key} si la respuesta era correcta y "
        "{mismatch_key} si era incorrecta.",
        "at once": "Decida mentalmente y enseguida si es correcta o incorrecta.",
        "at once, keys": "Pulse enseguida {match_key} si es correcta y {mismatch_key} si es "
        "incorrecta.",
        "only seen": "Solo mírela; no tiene que hacer nada más.",
    },
}


def texts(protocol: Protocol) -> dict[str, str]:
    """Return the texts that the participant reads, with placeholders, by their field.

    Those that the protocol leaves out are its language's own, and fit the experiment. Where guesses
    are judged while they are seen, or there is no event of seeing them, `guess` and `judge` are
    the same: the guess and the question below it.

    Examples
    --------
    >>> from bciigl.protocol import load
    >>> from bciigl.protocol.screen import say, texts
    >>> say(texts(load("number_guessing"))["guess"], option=7)
    'Guess: 7'
    """
    screen, words = protocol.screen, _LANGUAGES[protocol.screen.language]
    built_in = {
        **words,
        "instructions": _instructions(protocol, words),
        "judge": words[f"judge{_keys(protocol)}"],
    }
    own = {name: getattr(screen, name) for name in TEXTS}
    used = {name: built_in[name] if text is None else text for name, text in own.items()}
    used["part"] = words["part"]
    if _judged_at_once(protocol):
        used["guess"] = used["judge"] = f"{used['guess']}\n{used['judge']}"
    return used


def placeholder_values(protocol: Protocol) -> dict[str, str]:
    """Return what stands for the placeholders that are the same throughout a session."""
    match_key, mismatch_key = protocol.live.answers
    options = ", ".join(map(str, protocol.task.options))
    return {"options": options, "match_key": match_key, "mismatch_key": mismatch_key}


def say(text: str, **values: object) -> str:
    """Return a text with its placeholders filled, each once; those without a value stay.

    It never raises, whatever the text, so that a session cannot fail for a word.
    """

    def filled(match: re.Match) -> str:
        return str(values.get(match[1], match[0]))

    return re.sub(r"\{(\w+)\}", filled, text)


def image_type(path: Path) -> str | None:
    """Return the media type of an image file as its first bytes tell it; None if it is none."""
    with path.open("rb") as file:
        start = file.read(8)
    return next((kind for sign, kind in _SIGNATURES.items() if start.startswith(sign)), None)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours such as ``"#f2f2f2"``, 1 to 21, as WCAG 2 defines it."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def screen_findings(protocol: Protocol) -> Iterator[Finding]:
    """Yield what is wrong with a protocol's texts and images."""
    for name in TEXTS:
        text = getattr(protocol.screen, name)
        if text is not None and (problem := _problem(name, text)):
            yield Finding(("screen", name), problem)
    options = list(map(str, protocol.task.options))
    for option, file in protocol.screen.images.items():
        path = ("screen", "images", option)
        if option not in options:
            near = did_you_mean(option, options) or f"; options are {', '.join(options)}"
            yield Finding(path, f"is not an option{near}", (("task", "options"),))
        elif Path(file).suffix.lower() not in IMAGES:
            yield Finding(path, f"should be a file .png, .jpg or .gif, got {file!r}")


def _problem(name: str, text: str) -> str:
    """Return why a text cannot be used, or an empty text."""
    one = name in _OF_ONE_OPTION
    allowed = [each for each in PLACEHOLDERS if one or each != "option"]
    known = f"known here: {', '.join(f'{{{each}}}' for each in allowed)}"
    for word in re.findall(r"\{(\w+)\}", text):
        if word in allowed:
            continue
        if word == "option":
            return f"{{option}} is not known when this is shown; {known}"
        # The nearest spelling stands in braces, as it is to be written.
        near = did_you_mean(f"{{{word}}}", [f"{{{each}}}" for each in allowed]) or f"; {known}"
        return f"unknown placeholder {{{word}}}{near}"
    if re.search("[{}]", re.sub(r"\{\w+\}", "", text)):
        return f"a brace is not part of a placeholder; {known}"
    if name in ("imagine_cued", "guess") and "{option}" not in text:
        return "should have {option}, where the option's name is to be"
    return ""


def _instructions(protocol: Protocol, words: dict[str, str]) -> str:
    sentences = ["still", "choose", "seen"]
    if protocol.task.catch.share:
        sentences.insert(2, "cued")
    if "judgment" not in protocol.task.events:
        sentences.append("only seen")
    else:
        when = "at once" if _judged_at_once(protocol) else "later"
        sentences.append(when + _keys(protocol))
    return "\n".join(words[each] for each in sentences)


def _keys(protocol: Protocol) -> str:
    return ", keys" if protocol.human.key_press else ""


def _judged_at_once(protocol: Protocol) -> bool:
    events = protocol.task.events
    return "judgment" in events and (protocol.timing.together or "perception" not in events)


def _luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
