"""Days that a text names, in several languages, as days of the calendar."""

from clawkit.text.calendar.mentions import (
    Mention,
    Range,
    day_of,
    days,
    fit,
    mentions,
    ranges,
    resolved,
)

__all__ = ["Mention", "Range", "day_of", "days", "fit", "mentions", "ranges", "resolved"]
