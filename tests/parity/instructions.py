"""Instructions of IFEval, with answers."""

# Instruction of IFEval: its arguments, an answer that follows it, and one that does not.
INSTRUCTIONS = {
    "punctuation:no_comma": ({}, "Nothing of that kind here.", "One, two."),
    "keywords:existence": ({"keywords": ["lamp", "river"]}, "A river and a lamp.", "A lamp."),
    "keywords:frequency": (
        {"keyword": "stone", "frequency": 2, "relation": "at least"},
        "Stone on stone.",
        "One stone.",
    ),
    "keywords:forbidden_words": ({"forbidden_words": ["rope"]}, "A cloud.", "A rope."),
    "startend:quotation": ({}, '"A market."', "A market."),
    "startend:end_checker": ({"end_phrase": "That is all."}, "A bridge. That is all.", "A bridge."),
    "detectable_format:json_format": ({}, '{"paper": 1}', "paper: 1"),
    "detectable_format:title": ({}, "<<bells>>\nThey ring.", "Bells\nThey ring."),
    "detectable_format:number_highlighted_sections": ({"num_highlights": 2}, "*One* and *two*.", "*One* only."),
    "detectable_content:postscript": ({"postscript_marker": "P.S."}, "A sailor.\nP.S. And a hill.", "A sailor."),
    "length_constraints:number_words": (
        {"num_words": 4, "relation": "at least"},
        "The baker finds the window.",
        "The baker.",
    ),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "One.\n\n***\n\nTwo.", "One."),
    "combination:two_responses": ({}, "One.\n******\nTwo.", "One."),
}
