"""What follows from a cause, and on which way: asked by page, command, report and slide alike.

    rows          both sides of a step and rank as one list of rows
    states        what each row shows: its score, whether it diverges, has a partner, is a cause
    named_causes  the causes that are here, by their rows
    standing      of these, after pairs made by hand, the ones that stand
    laid          to which cause, and which place of it, the diagnosis itself lays each row
    carry_edges   one list of edges between rows: start, end, kind, certain
    reach         edges and causes in, the cause of each row out, and whether only perhaps
    ways          the best way from a row back to its cause, and all rows between two
    step          all of these of one step and rank of a file, each made when first asked for
    told_way      a way in the words of a file: hops with names, values and scores
    spread        how far each cause reaches, in numbers

From `rows` to `ways` it is arrays in, arrays out; `step` alone asks a file. After pairs made by
hand the same functions run on the new rows.
"""
