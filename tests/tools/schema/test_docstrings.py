"""Docstrings, taken apart: Google, NumPy, Sphinx, and those that follow nobody."""

from __future__ import annotations

import pytest

from clawkit.tools.schema.docstrings import Docstring, read_docstring

GOOGLE = """Render a scene.

    The longer story.

    Args:
        scene: What to draw.
        size (int, optional): Edge length
            in pixels: square.
        **extra: Passed on.

    Returns:
        The path of the image.
    """

NUMPY = """Render a scene.

    Parameters
    ----------
    scene : str
        What to draw.
    width, height : int, default 3
        Edge lengths

        in pixels.
    plain

    Returns
    -------
    str
        The path of the image.
    """

SPHINX = """Render a scene.

    :param scene: What to draw.
    :param int size: Edge length
        in pixels.
    :type scene: str
    :returns: The path of the image.
    """


def test_a_google_docstring_loses_its_parameters_and_keeps_the_rest() -> None:
    assert read_docstring(GOOGLE) == Docstring(
        "Render a scene.\n\nThe longer story.\n\nReturns:\n    The path of the image.",
        {
            "scene": "What to draw.",
            "size": "Edge length in pixels: square.",
            "extra": "Passed on.",
        },
    )


def test_a_numpy_docstring_loses_its_parameters_and_keeps_the_rest() -> None:
    assert read_docstring(NUMPY) == Docstring(
        "Render a scene.\n\nReturns\n-------\nstr\n    The path of the image.",
        {
            "scene": "What to draw.",
            "width": "Edge lengths in pixels.",
            "height": "Edge lengths in pixels.",
        },
    )


def test_a_sphinx_docstring_loses_its_parameters_and_keeps_the_rest() -> None:
    assert read_docstring(SPHINX) == Docstring(
        "Render a scene.\n\n:returns: The path of the image.",
        {"scene": "What to draw.", "size": "Edge length in pixels."},
    )


@pytest.mark.parametrize("heading", ["Args", "Arguments", "Parameters", "Params", "args"])
def test_googles_section_has_several_names(heading: str) -> None:
    text = f"Do it.\n\n{heading}:\n    a: The first."
    assert read_docstring(text) == Docstring("Do it.", {"a": "The first."})


@pytest.mark.parametrize(
    "text",
    [
        "Args:\n    a: The first.\n    b: The second.",
        "Args:\n  a: The first.\n\n  b: The second.\n",
        "Args:\n\ta (int): The first.\n\tb (dict[str, int]): The second.",
        ":param a: The first.\n:param b: The second.",
        ":param list[int] a: The first.\n:param b: The second.",
        ":arg a: The first.\n:keyword b: The second.",
        "Parameters\n----------\na\n    The first.\nb : int\n    The second.",
        "Parameters\n==========\na : {'x', 'y'}\n    The first.\n\nb\n    The second.\n",
    ],
)
def test_parameters_are_found_however_they_are_laid_out(text: str) -> None:
    assert read_docstring(f"\n{text}") == Docstring("", {"a": "The first.", "b": "The second."})


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    assert read_docstring(text) == Docstring("", {})


@pytest.mark.parametrize(
    "text",
    [
        "Only a summary.",
        "Note: this is not a section.\n\nIt goes on.",
        "Args: none",
        "Arguments:\nnot indented, so no section",
        "Parameters of the model are left alone.",
        "Example:\n    f(a: int)",
        "A table\n-------\nof contents",
    ],
)
def test_text_of_no_convention_is_description(text: str) -> None:
    assert read_docstring(f"\n{text}") == Docstring(text, {})


def test_a_parameter_without_words_has_no_description() -> None:
    text = "Do it.\n\nArgs:\n    a:\n    b: The second."
    assert read_docstring(text) == Docstring("Do it.", {"b": "The second."})


def test_a_section_of_prose_is_not_taken_for_parameters() -> None:
    text = "Do it.\n\nArguments:\n    They are all optional"
    assert read_docstring(text) == Docstring(text, {})


def test_what_follows_the_parameters_is_kept() -> None:
    text = "Do it.\n\nArgs:\n    a: The first.\n\nThen more.\n\n:param b: The second.\n\nEnd."
    assert read_docstring(text) == Docstring(
        "Do it.\n\nThen more.\n\nEnd.", {"a": "The first.", "b": "The second."}
    )


def test_a_docstring_is_frozen() -> None:
    with pytest.raises(AttributeError):
        read_docstring("Do it.").description = "Do that."  # pyright: ignore[reportAttributeAccessIssue]
