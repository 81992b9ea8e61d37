//! Rule: each `let` gives a name to one value. A tuple that is built only to be taken apart at once
//! saves a line, and hides that its parts do not belong together.

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
            let mut bindings = Bindings { file, at: 0, findings: Vec::new() };
            bindings.visit_file(&parsed);
            findings.extend(bindings.findings);
        }
    }
    findings
}

/// The bindings of a file, which are visited in the order of its text.
struct Bindings<'a> {
    file: &'a SourceFile,
    /// The offset behind the tuple that was found last. The next one is searched from there, since
    /// the parser keeps no lines.
    at: usize,
    findings: Vec<Finding>,
}

impl<'a> Visit<'a> for Bindings<'a> {
    fn visit_local(&mut self, local: &'a syn::Local) {
        if let Some(names) = built_and_taken_apart(local) {
            let code = &self.file.scanned.code;
            let is_here = |at: &usize| {
                let binding = code[self.at + at + "let".len()..].split_once('=');
                binding.is_some_and(|(pattern, value)| {
                    let pattern = pattern.trim_start().strip_prefix('(');
                    let is_it = pattern.is_some_and(|it| it.trim_start().starts_with(&names));
                    is_it && value.trim_start().starts_with('(')
                })
            };
            if let Some(further) = words(&code[self.at..], "let").find(is_here) {
                self.at += further + "let".len();
            }
            let why = format!(
                "a tuple is taken apart where it is built: give `{names}` and the others a `let` each"
            );
            let line = line_of(&self.file.text, self.at);
            self.findings.push(Finding::new(&self.file.path, line, why));
        }
        visit::visit_local(self, local);
    }
}

/// Returns the first name of a `let` that gives names to all parts of a tuple which it builds.
fn built_and_taken_apart(local: &syn::Local) -> Option<String> {
    let syn::Pat::Tuple(pattern) = &local.pat else { return None };
    let syn::Expr::Tuple(values) = local.init.as_ref()?.expr.as_ref() else { return None };
    let mut names = pattern.elems.iter().map(|part| match part {
        syn::Pat::Ident(name) if name.mutability.is_some() => Some(format!("mut {}", name.ident)),
        syn::Pat::Ident(name) => Some(name.ident.to_string()),
        _ => None,
    });
    let first = names.next()??;
    (values.elems.len() > 1 && names.all(|name| name.is_some())).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(code: &str) -> Vec<usize> {
        let found = check(&one("crates/a/src/lib.rs", code));
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn tuples_that_are_built_to_be_taken_apart_are_found() {
        let code = "fn f() {\n    let a = 1;\n    let (b, c) = (a, 2);\n    let (mut d, e) =\n        (a, 3);\n}";
        assert_eq!(lines(code), [3, 4]);
        let code =
            "fn f() {\n    let (a, b) = g();\n    g(|| {\n        let (a, b) = (b, a);\n    });\n}";
        assert_eq!(lines(code), [4]);
    }

    #[test]
    fn results_of_functions_and_patterns_are_allowed() {
        let code =
            "fn f() {\n    let (a, b) = g();\n    let (c, Some(d)) = (a, b) else { return };\n}";
        assert!(lines(code).is_empty());
    }
}
