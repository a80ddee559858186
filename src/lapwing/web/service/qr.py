"""QR codes of addresses."""

from __future__ import annotations

from markupsafe import Markup, escape


def drawn(address: str, name: str = "QR code of the link") -> Markup:
    """An address as SVG, to stand in a page; black on white in every theme, so that every camera reads it."""
    import segno

    code = segno.make(address, error="m", boost_error=False, mask=3)  # choosing the mask would take most of the time
    picture = code.svg_inline(border=3, light="white", svgclass="qr", omitsize=True)
    return Markup(picture.replace("<svg ", f'<svg role="img" aria-label="{escape(name)}" ', 1))
