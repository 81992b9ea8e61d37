//! Rule: no constructor is called `of`. Its name says what happens: `new`, `from_x`, `parse`,
//! `open`, `read`.

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
            let mut functions = Functions { file, at: 0, own: None, findings: Vec::new() };
            functions.visit_file(&parsed);
            findings.extend(functions.findings);
        }
    }
    findings
}

/// The functions of a file, which are visited in the order of its text.
struct Functions<'a> {
    file: &'a SourceFile,
    /// The offset behind the `fn of` that was visited last. The next one is searched from there,
    /// since the parser keeps no lines.
    at: usize,
    /// The name of the type whose functions are visited.
    own: Option<&'a syn::Ident>,
    findings: Vec<Finding>,
}

impl<'a> Visit<'a> for Functions<'a> {
    fn visit_item_impl(&mut self, block: &'a syn::ItemImpl) {
        let outer = self.own;
        self.own = match block.self_ty.as_ref() {
            syn::Type::Path(named) => named.path.segments.last().map(|segment| &segment.ident),
            _ => None,
        };
        visit::visit_item_impl(self, block);
        self.own = outer;
    }

    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        if signature.ident == "of" {
            let code = &self.file.scanned.code;
            let is_here = |at: &usize| identifier(&code[self.at + at + "fn".len()..]) == "of";
            if let Some(further) = words(&code[self.at..], "fn").find(is_here) {
                self.at += further + "fn".len();
            }
            let mut returned = Returned { own: self.own, is_own: false };
            returned.visit_return_type(&signature.output);
            if returned.is_own {
                let why = "`of` does not say how it makes its value: write `new`, `from_x`, \
                           `parse`, `open`, `read`, or another verb";
                let line = line_of(&self.file.text, self.at);
                self.findings.push(Finding::new(&self.file.path, line, why));
            }
        }
        visit::visit_signature(self, signature);
    }
}

/// Looks in a returned type for the type whose function returns it.
struct Returned<'a> {
    own: Option<&'a syn::Ident>,
    is_own: bool,
}

impl<'a> Visit<'a> for Returned<'a> {
    fn visit_ident(&mut self, name: &'a syn::Ident) {
        self.is_own |= name == "Self" || self.own == Some(name);
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
    fn constructors_are_found() {
        for returned in ["Self", "Option<Self>", "io::Result<Self>", "A", "Option<Arc<A>>"] {
            let code = format!("impl A {{\n    pub fn of(b: B) -> {returned} {{ c }}\n}}");
            assert_eq!(lines(&code), [2], "{code}");
        }
        assert_eq!(lines("trait A {\n\n    fn of(b: u8) -> Self;\n}"), [3]);
        assert_eq!(lines("impl<'a> b::A<'a> {\n    fn of() -> A<'a> {}\n}"), [2]);
    }

    #[test]
    fn the_line_is_that_of_the_constructor() {
        let code = "fn of() -> u8 { 1 }\nimpl A {\n    // fn of\n    fn of(&self) {}\n}\n\
                    impl B {\n    fn often() {}\n    fn of() -> Self {}\n}";
        assert_eq!(lines(code), [8]);
    }

    #[test]
    fn lookups_and_free_functions_are_allowed() {
        let code = "fn of(a: A) -> A {}\nimpl A {\n    fn of(&self, b: B) -> Option<&C> {}\n}\n\
                    impl B {\n    fn new() -> Self {}\n}";
        assert!(lines(code).is_empty());
    }
}
