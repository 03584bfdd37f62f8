"""From text to moras: kana by their sound, all else by its code point.

There is no dictionary. The point is that the same text gives the same moras everywhere,
that two texts give two sounds, and that kana sound roughly like themselves.
"""

from __future__ import annotations

from .schema import AccentPhrase, Mora

PHRASE_MORAS = 8
_PAUSES = frozenset("、。，．・,.;:!?！？；：…‥「」『』（）()[]【】〜～")
_QUESTIONS = frozenset("?？")
_VOWELS = "aiueo"

_ROWS = (
    ("", "アイウエオ", "aiueo"),
    ("k", "カキクケコ", "aiueo"),
    ("g", "ガギグゲゴ", "aiueo"),
    ("s", "サスセソ", "aueo"),
    ("sh", "シ", "i"),
    ("z", "ザズゼゾヅ", "aueou"),
    ("j", "ジヂ", "ii"),
    ("t", "タテト", "aeo"),
    ("ch", "チ", "i"),
    ("ts", "ツ", "u"),
    ("d", "ダデド", "aeo"),
    ("n", "ナニヌネノ", "aiueo"),
    ("h", "ハヒヘホ", "aieo"),
    ("f", "フ", "u"),
    ("b", "バビブベボ", "aiueo"),
    ("p", "パピプペポ", "aiueo"),
    ("m", "マミムメモ", "aiueo"),
    ("y", "ヤユヨャュョ", "auoauo"),
    ("r", "ラリルレロ", "aiueo"),
    ("w", "ワヰヱヲヮ", "aieoa"),
    ("v", "ヴ", "u"),
    ("", "ァィゥェォ", "aiueo"),
)
_KANA = {
    kana: (consonant, vowel)
    for consonant, row, vowels in _ROWS
    for kana, vowel in zip(row, vowels, strict=True)
}
_SMALL_Y = {"ャ": "a", "ュ": "u", "ョ": "o"}
_SMALL_VOWELS = {"ァ": "a", "ィ": "i", "ゥ": "u", "ェ": "e", "ォ": "o"}
_PALATAL = {"k", "g", "n", "h", "b", "p", "m", "r", "t", "d"}  # gain a y before ャュョ
_ALREADY_PALATAL = {"sh", "j", "ch"}
_OTHERS = sorted({consonant for consonant, _ in _KANA.values() if consonant})


def accent_phrases(text: str) -> list[AccentPhrase]:
    """Cut a text into accent phrases of a few moras, with a pause wherever one is written."""
    phrases: list[AccentPhrase] = []
    moras: list[Mora] = []
    sounds: list[int] = []

    def finish(pause: Mora | None, *, question: bool) -> None:
        if moras:
            phrases.append(_phrase(moras, sounds, pause, question=question))
            moras.clear()
            sounds.clear()

    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character in _PAUSES or character.isspace():
            finish(_pause(character), question=character in _QUESTIONS)
            continue
        pair = _palatal_pair(character, text[position : position + 1])
        if len(moras) >= PHRASE_MORAS and pair is None and character not in "ーッっンん":
            finish(None, question=False)
        if pair is None:
            moras.append(_mora(character, moras))
            sounds.append(ord(character))
        else:
            moras.append(pair)
            sounds.append(ord(character) + ord(text[position]))
            position += 1
    finish(None, question=False)
    return phrases


def to_notation(phrases: list[AccentPhrase]) -> str:
    """The phrases in the notation of AquesTalk: accents as ', pauses as 、, other ends as /."""
    parts: list[str] = []
    for index, phrase in enumerate(phrases):
        for number, mora in enumerate(phrase.moras, start=1):
            parts.append(mora.text + ("'" if number == phrase.accent else ""))
        if phrase.is_interrogative:
            parts.append("？")
        if index + 1 < len(phrases):
            parts.append("、" if phrase.pause_mora else "/")
    return "".join(parts)


def _katakana(character: str) -> str:
    return chr(ord(character) + 0x60) if "ぁ" <= character <= "ゖ" else character


def _mora(character: str, before: list[Mora]) -> Mora:
    kana = _katakana(character)
    code = ord(character)
    if kana == "ー" and before:
        consonant, vowel = "", before[-1].vowel
    elif kana == "ッ":
        consonant, vowel = "", "cl"
    elif kana == "ン":
        consonant, vowel = "", "N"
    elif kana in _KANA:
        consonant, vowel = _KANA[kana]
    else:
        consonant, vowel = _OTHERS[code // 5 % len(_OTHERS)], _VOWELS[code % 5]
    return _timed(kana, consonant, vowel, code)


def _palatal_pair(first: str, second: str) -> Mora | None:
    """キャ, ファ and the like: two characters, one mora. ``None`` if the two are not that."""
    if not second:
        return None
    kana, small = _katakana(first), _katakana(second)
    consonant, vowel = _KANA.get(kana, ("", ""))
    if not consonant:
        return None
    code = ord(first) * 31 + ord(second)
    if small in _SMALL_VOWELS:
        return _timed(kana + small, consonant, _SMALL_VOWELS[small], code)
    if small in _SMALL_Y and vowel == "i":
        if consonant in _PALATAL:
            consonant += "y"
        elif consonant not in _ALREADY_PALATAL:
            return None
        return _timed(kana + small, consonant, _SMALL_Y[small], code)
    return None


def _timed(text: str, consonant: str, vowel: str, code: int) -> Mora:
    """A mora whose lengths depend on the character, so that no two sound quite alike."""
    length = 0.075 + code * 7 % 61 / 61 * 0.05
    return Mora(
        text=text,
        consonant=consonant or None,
        consonant_length=round(0.03 + code % 11 / 11 * 0.04, 4) if consonant else None,
        vowel=vowel,
        vowel_length=round(length, 4),
        pitch=0.0,
    )


def _pause(character: str) -> Mora:
    length = 0.2 + ord(character) % 13 / 13 * 0.15
    return Mora(text="、", vowel="pau", vowel_length=round(length, 4), pitch=0.0)


def _phrase(
    moras: list[Mora], sounds: list[int], pause: Mora | None, *, question: bool
) -> AccentPhrase:
    accent = 1 + sum(sounds) % len(moras)
    for index, (mora, code) in enumerate(zip(moras, sounds, strict=True)):
        if mora.vowel != "cl":
            high = 0.22 if (accent == 1 and index == 0) or 0 < index < accent else 0.0
            own = code * 37 % 1009 / 1009 * 0.16
            fall = 0.12 * index / len(moras)
            mora.pitch = round(5.4 + high + own - fall, 4)
    return AccentPhrase(
        moras=list(moras), accent=accent, pause_mora=pause, is_interrogative=question
    )
