//! Rule: a parameter of a function has a name. A tuple that is taken apart in the list of
//! parameters says neither what it is nor why its parts belong together. Structs name their parts,
//! so their patterns are allowed; so are those of closures, since iterators pass tuples to them.

use syn::visit::{self, Visit};

use super::finding::Finding;
use super::scan::{identifier, line_of, words};
use super::tree::{SourceFile, Tree};

/// Checks the functions of all Rust files, tests and tools included.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        // The compiler says what is wrong with a file that cannot be parsed.
        if let Ok(parsed) = syn::parse_file(&file.text) {
            let mut functions = Functions { file, at: 0, findings: Vec::new() };
            functions.visit_file(&parsed);
            findings.extend(functions.findings);
        }
    }
    findings
}

/// The functions of a file, which are visited in the order of its text.
struct Functions<'a> {
    file: &'a SourceFile,
    /// The offset behind the `fn` that was visited last. The next one is searched from there, since
    /// the parser keeps no lines.
    at: usize,
    findings: Vec<Finding>,
}

impl<'a> Visit<'a> for Functions<'a> {
    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        let code = &self.file.scanned.code;
        let name = signature.ident.to_string();
        let here = |at: &usize| identifier(&code[self.at + at + "fn".len()..]) == name;
        if let Some(further) = words(&code[self.at..], "fn").find(here) {
            self.at += further + "fn".len();
        }
        let split = signature.inputs.iter().filter(|input| is_taken_apart(input)).count();
        if split > 0 {
            let why = format!(
                "`{name}` takes a tuple or an array apart in its parameters: give each part a \
                 parameter of its own, or pass a struct whose name says what it is"
            );
            let line = line_of(&self.file.text, self.at);
            self.findings.push(Finding::new(&self.file.path, line, why));
        }
        visit::visit_signature(self, signature);
    }
}

/// Whether a parameter is a pattern of parts without names.
fn is_taken_apart(parameter: &syn::FnArg) -> bool {
    let syn::FnArg::Typed(parameter) = parameter else { return false };
    let mut pattern = parameter.pat.as_ref();
    loop {
        pattern = match pattern {
            syn::Pat::Reference(inner) => &inner.pat,
            syn::Pat::Paren(inner) => &inner.pat,
            other => return matches!(other, syn::Pat::Tuple(_) | syn::Pat::Slice(_)),
        };
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

    #[test]
    fn tuples_and_arrays_are_found_in_every_kind_of_function() {
        for parameter in ["(a, b): (u8, u8)", "&(a, b): &(u8, u8)", "[a, b]: [u8; 2]", "(a, _): A"]
        {
            let free = format!("\nfn f({parameter}, c: u8) {{}}");
            assert_eq!(lines(&free), [2], "{free}");
            let method = format!("impl A {{\n\n    fn f(&self, {parameter}) {{}}\n}}");
            assert_eq!(lines(&method), [3], "{method}");
            let required = format!("trait A {{\n    fn f(\n        {parameter},\n    );\n}}");
            assert_eq!(lines(&required), [2], "{required}");
            let inner = format!("fn f() {{\n    fn g({parameter}) {{}}\n}}");
            assert_eq!(lines(&inner), [2], "{inner}");
            let test = format!("#[cfg(test)]\nmod tests {{\n    fn f({parameter}) {{}}\n}}");
            assert_eq!(lines(&test), [3], "{test}");
        }
    }

    #[test]
    fn the_line_is_that_of_the_function_and_not_of_its_namesake() {
        let code = "// fn f((a, b): A)\nimpl A { fn f(a: A) {} }\nimpl B { fn f((a, b): A) {} }\n";
        assert_eq!(lines(code), [3]);
        let code =
            "fn f((a, b): A) {\n    fn f(a: A) {}\n}\nfn f(\n    a: fn(A),\n    (b, c): A,\n) {}\n";
        assert_eq!(lines(code), [1, 4]);
    }

    #[test]
    fn closures_structs_and_plain_tuples_are_allowed() {
        let code =
            "fn f(a: (u8, u8), B { c, d }: &B, E(e): E) {\n    g(|(h, i): (u8, u8)| h + i);\n}";
        assert!(lines(code).is_empty());
    }
}
