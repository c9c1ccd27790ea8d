"""Messages in the words of the shell: options instead of Python's parameters."""

from __future__ import annotations

import re

import click

#: Parameters in Python that have another name than the option.
_OTHERS = {"validation": "--valid", "tag_dictionary": "--dictionary", "learner": "--learners"}
_ESCAPED = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})
_NUMPY = re.compile(r"\bnp\.[a-z0-9]+_?\(('[^']*'|[^()]*)\)")
_QUOTED, _PLAIN = r"'[^']*'", r"[-+]?\w+(?:\.\d+)?(?:[-+]\d+)?"


def in_shell_words(message: str, command: click.Command) -> str:
    """A message with options of a command where it names parameters in Python.

    Examples
    --------
    >>> command = click.Command("train", params=[click.Option(["--rule"]), click.Option(["--C"])])
    >>> in_shell_words("C=3.0 has no effect with rule='pa', only with rule='pa1' or 'pa2'", command)
    '--C 3.0 has no effect with --rule pa, only with --rule pa1 or pa2'
    >>> in_shell_words("np.str_('dog') is not a label: give --rule pa (rule='pa')", command)
    "'dog' is not a label: give --rule pa"
    """
    written = _written(command)
    message = _NUMPY.sub(r"\1", message)
    if not written:
        return message
    names = "|".join(map(re.escape, written))
    value = f"{_QUOTED}|{_PLAIN}"
    message = re.sub(rf" \((?:{names})=(?:{value})\)", "", message)
    message = re.sub(r"( must be a [^;:]*), or None\b", r"\1", message)  # options are left out
    if "power" in written:
        message = message.replace("the power of eta=", "power=")
    given = rf"(?<![\w/.='\"-])(?:--)?({names})=((?:{value})(?:(?:, | or ){_QUOTED})*)(?![\w/.])"
    return re.sub(given, lambda found: _option(found[1], found[2], written), message)


def on_one_line(label: object) -> str:
    """A label as a cell of a line of output: tabs and line ends, if it has any, are escaped.

    Examples
    --------
    >>> on_one_line("very\\tgood\\n"), on_one_line(3)
    ('very\\\\tgood\\\\n', '3')
    """
    return str(label).translate(_ESCAPED)


def _written(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by the names of the parameters."""
    found: dict[str, click.Option] = {}
    for option in command.params:
        if isinstance(option, click.Option):
            spelled = [one.lstrip("-").replace("-", "_") for one in option.opts]
            found |= dict.fromkeys([str(option.name), *spelled], option)
    by_opt = {opt: option for option in found.values() for opt in option.opts}
    return found | {name: by_opt[opt] for name, opt in _OTHERS.items() if opt in by_opt}


def _option(name: str, value: str, written: dict[str, click.Option]) -> str:
    """An option with its value, as on a command line."""
    option = written[name]
    if option.is_flag:
        opts = option.secondary_opts if value == "False" and option.secondary_opts else option.opts
        return max(opts, key=len)
    plain = re.sub(r"'(\w[^' ]*)'", r"\1", value)
    return f"{max(option.opts, key=len)} {plain}"
