//! Rule: no binding has the name of the function that makes it. `let plan = plan(..)` hides the
//! function from the lines below, and says twice how a value came about but not what it is.

use syn::visit::{self, Visit};

use super::finding::Finding;
use super::scan::{line_of, words};
use super::tree::{SourceFile, Tree};

/// Checks the bindings of all Rust files, tests and tools included.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        // The compiler says what is wrong with a file that cannot be parsed.
        if let Ok(parsed) = syn::parse_file(&file.text) {
            let mut shadows = Shadows { file, at: 0, findings: Vec::new() };
            shadows.visit_file(&parsed);
            findings.extend(shadows.findings);
        }
    }
    findings
}

/// The bindings of a file, which are visited in the order of its text.
struct Shadows<'a> {
    file: &'a SourceFile,
    /// The offset behind the keyword of the binding that was found last. The next one is searched
    /// from there, since the parser keeps no lines.
    at: usize,
    findings: Vec<Finding>,
}

impl Shadows<'_> {
    /// Notes the binding of `name` behind the next `let` that has it in its pattern, or the next
    /// `match` on a call of it.
    fn note(&mut self, keyword: &str, name: &syn::Ident) {
        let name = name.to_string();
        let code = &self.file.scanned.code;
        let is_in = |part: &str| words(part, &name).next().is_some();
        let is_called_in = |part: &str| {
            words(part, &name).any(|at| {
                let behind = &part[at + name.len()..];
                behind.starts_with('(') || behind.starts_with("::<")
            })
        };
        let is_here = |at: &usize| {
            let behind = &code[self.at + at + keyword.len()..];
            match keyword {
                "let" => behind.split_once('=').is_some_and(|(pattern, value)| {
                    let is_tuple = pattern.trim_start().starts_with('(');
                    !is_tuple && is_in(pattern) && is_called_in(statement(value))
                }),
                _ => is_called_in(behind.split('{').next().unwrap_or(behind)),
            }
        };
        if let Some(further) = words(&code[self.at..], keyword).find(is_here) {
            self.at += further + keyword.len();
        }
        let why = format!(
            "`{name}` has the name of the function that makes it: say what it is, or give the function a verb"
        );
        let line = line_of(&self.file.text, self.at);
        self.findings.push(Finding::new(&self.file.path, line, why));
    }
}

impl<'a> Visit<'a> for Shadows<'a> {
    fn visit_local(&mut self, local: &'a syn::Local) {
        if let (Some(name), Some(value)) = (bound(&local.pat), &local.init)
            && is_made_by(name, &value.expr)
        {
            self.note("let", name);
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_let(&mut self, test: &'a syn::ExprLet) {
        if let Some(name) = bound(&test.pat).filter(|name| is_made_by(name, &test.expr)) {
            self.note("let", name);
        }
        visit::visit_expr_let(self, test);
    }

    fn visit_expr_match(&mut self, choice: &'a syn::ExprMatch) {
        let mut names = choice.arms.iter().filter_map(|arm| bound(&arm.pat));
        if let Some(name) = names.find(|name| is_made_by(name, &choice.expr)) {
            self.note("match", name);
        }
        visit::visit_expr_match(self, choice);
    }
}

/// Returns the code up to the semicolon that ends it, not one in a block of it.
fn statement(code: &str) -> &str {
    let mut depth = 0_i32;
    let end = code.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth < 0 || depth == 0 && byte == b';'
    });
    &code[..end.unwrap_or(code.len())]
}

/// Returns the only name that a pattern binds; `None` if it takes a value of several parts apart.
fn bound(pattern: &syn::Pat) -> Option<&syn::Ident> {
    match pattern {
        syn::Pat::Ident(name) => Some(&name.ident),
        syn::Pat::Type(typed) => bound(&typed.pat),
        syn::Pat::Reference(reference) => bound(&reference.pat),
        syn::Pat::TupleStruct(variant) if variant.elems.len() == 1 => bound(&variant.elems[0]),
        _ => None,
    }
}

/// Whether a function called `name` makes the value of an expression: in one of its branches, and
/// before methods change it.
fn is_made_by(name: &syn::Ident, value: &syn::Expr) -> bool {
    let of_last = |block: &syn::Block| match block.stmts.last() {
        Some(syn::Stmt::Expr(last, None)) => is_made_by(name, last),
        _ => false,
    };
    match value {
        syn::Expr::Call(call) => match call.func.as_ref() {
            syn::Expr::Path(function) => {
                function.path.segments.last().is_some_and(|last| last.ident == *name)
            }
            _ => false,
        },
        syn::Expr::MethodCall(call) => is_made_by(name, &call.receiver),
        syn::Expr::Try(tried) => is_made_by(name, &tried.expr),
        syn::Expr::Reference(reference) => is_made_by(name, &reference.expr),
        syn::Expr::Unary(unary) => is_made_by(name, &unary.expr),
        syn::Expr::Paren(inner) => is_made_by(name, &inner.expr),
        syn::Expr::Cast(cast) => is_made_by(name, &cast.expr),
        syn::Expr::Field(field) => is_made_by(name, &field.base),
        syn::Expr::Index(index) => is_made_by(name, &index.expr),
        syn::Expr::Binary(binary) => is_made_by(name, &binary.left),
        syn::Expr::Match(choice) => {
            let mut arms = choice.arms.iter();
            is_made_by(name, &choice.expr) || arms.any(|arm| is_made_by(name, &arm.body))
        }
        syn::Expr::If(choice) => {
            let otherwise = choice.else_branch.as_ref();
            of_last(&choice.then_branch) || otherwise.is_some_and(|(_, it)| is_made_by(name, it))
        }
        syn::Expr::Block(inner) => of_last(&inner.block),
        syn::Expr::Unsafe(inner) => of_last(&inner.block),
        syn::Expr::Closure(closure) => {
            let mut calls = Calls { name, is_called: false };
            calls.visit_expr(&closure.body);
            calls.is_called
        }
        _ => false,
    }
}

/// Looks in a closure for calls of the function that the closure's own name hides.
struct Calls<'a> {
    name: &'a syn::Ident,
    is_called: bool,
}

impl<'a> Visit<'a> for Calls<'_> {
    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let syn::Expr::Path(function) = call.func.as_ref() {
            self.is_called |= function.path.is_ident(self.name);
        }
        visit::visit_expr_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(code: &str) -> Vec<usize> {
        let found = check(&one("crates/a/src/lib.rs", code));
        found.iter().map(|finding| finding.line).collect()
    }

    fn lines_of_body(body: &str) -> Vec<usize> {
        lines(&format!("fn f() {{\n    {body}\n}}"))
    }

    #[test]
    fn names_of_the_functions_that_make_them_are_found() {
        for made in [
            "let plan = plan(a);",
            "let mut plan = plan(a)?;",
            "let plan: Vec<u8> = planning::plan::<u8>(a).unwrap_or_default();",
            "let plan = &Self::plan(a).nodes[0];",
            "let plan = !plan(a) && b;",
            "let plan = if a { plan(b) } else { c };",
            "let plan = match a { Some(a) => plan(a), None => b };",
            "let plan = match plan(a) { Ok(it) => it, Err(_) => return };",
            "let Some(plan) = plan(a) else { return };",
            "if let Ok(mut plan) = plan(a) { b }",
            "match plan(a) { Some(plan) => b, None => c }",
            "let plan = |a| b(plan(a, c));",
        ] {
            assert_eq!(lines_of_body(made), [2], "{made}");
        }
    }

    #[test]
    fn the_line_is_that_of_the_binding() {
        let code = "fn f() {\n    // let plan = plan(a)\n    let plan = 1;\n    let b = plan(a);\n    \
                    g(|| {\n        let (c, plan) = plan(a);\n        let plan =\n            plan(a);\n    \
                    });\n    let d = plan(a);\n    match a {\n        _ => b,\n    }\n    \
                    match plan(a) {\n        Ok(plan) => plan,\n    }\n    \
                    let plan = |a| {\n        b(a);\n        plan(a)\n    };\n}";
        assert_eq!(lines(code), [7, 14, 17]);
    }

    #[test]
    fn methods_and_other_names_are_allowed() {
        for made in [
            "let plan = self.plan();",
            "let plan = a.plan(b)?;",
            "let plan = planning(plan(a));",
            "let shown = plan(a);",
            "let plan = plan::parse(a);",
            "let plan = plan!(a);",
            "let plan = plan.filter(|_| plan(a));",
            "let (plan, b) = plan(a);",
            "let plan = |a: A| a.plan(b);",
            "let plan = Plan(a);",
        ] {
            assert_eq!(lines_of_body(made), [0; 0], "{made}");
        }
    }
}
