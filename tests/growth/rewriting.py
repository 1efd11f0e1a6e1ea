"""Rewrites a module so that its functions count what they do."""

from __future__ import annotations

import ast

# These look at the frame that calls them.
_OF_FRAMES = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}


def rewritten(source: str, module: str) -> ast.Module:
    """The tree of a module whose functions count their work as `module:function`."""
    tree = _Functions(module).visit(ast.parse(source))
    return ast.fix_missing_locations(tree)


class _Functions(ast.NodeTransformer):
    """Rewrites what functions do; what a module does as it is imported, it does once."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._path: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self._path.append(node.name)
        node.body = [self.visit(each) for each in node.body]
        self._path.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        place = f"{self._module}:{'.'.join([*self._path, node.name])}"
        counted = _Counted(place)
        node.body = [counted.visit(each) for each in node.body]
        return node


class _Counted(ast.NodeTransformer):
    def __init__(self, place: str) -> None:
        self._place = place

    def _count(self, counter: str, *values: ast.expr) -> ast.Call:
        name = ast.Name(f"_growth_{counter}", ast.Load())
        return ast.Call(name, [ast.Constant(self._place), *values], [])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.body = self.visit(node.body)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in _OF_FRAMES:
            return node
        self.generic_visit(node)
        called = self._count("call", node.func, *node.args)
        called.keywords = node.keywords
        return called

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = self._count("each", node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = self._count("each", node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(self._count("step")))
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._count("sized", node.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        self.generic_visit(node)
        pairs = zip(node.keys, node.values, strict=True)
        node.values = [
            self._count("sized", value) if key is None else value for key, value in pairs
        ]
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        node.value = self._count("sized", self.visit(node.value))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._count("op", ast.Constant(type(node.op).__name__), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            return self._count("op", ast.Constant("Invert"), node.operand)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1 or isinstance(node.ops[0], ast.Is | ast.IsNot):
            return node
        values = (node.left, node.comparators[0])
        if not isinstance(node.ops[0], ast.In | ast.NotIn):
            return self._count("op", ast.Constant(type(node.ops[0]).__name__), *values)
        found = self._count("in", *values)
        return ast.UnaryOp(ast.Not(), found) if isinstance(node.ops[0], ast.NotIn) else found

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._count("item", node.value, _index(node.slice))

    def visit_Match(self, node: ast.Match) -> ast.Match:
        # Patterns are no expressions.
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.guard = self.visit(case.guard) if case.guard is not None else None
            case.body = [self.visit(each) for each in case.body]
        return node


def _index(index: ast.expr) -> ast.expr:
    if isinstance(index, ast.Slice):
        ends = [end or ast.Constant(None) for end in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Name("slice", ast.Load()), ends, [])
    if isinstance(index, ast.Tuple):
        index.elts = [_index(each) for each in index.elts]
    return index
