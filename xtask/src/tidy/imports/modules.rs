//! The modules of all crates, and the names that each defines, imports and uses.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::super::finding::Finding;
use super::super::tree::Tree;

/// A module, as an index into [`Modules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModuleId(usize);

/// A meaning of a name in a module.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// An item that is defined in this module.
    Item,
    /// A child module.
    Module(ModuleId),
    /// The target of this path, which is relative to this module.
    Import(Vec<String>),
}

#[derive(Default)]
struct Module {
    file: String,
    parent: Option<ModuleId>,
    /// The root module of the crate.
    root: usize,
    names: BTreeMap<String, Vec<Meaning>>,
    globs: Vec<Vec<String>>,
    /// Every path in the module's code, as written.
    uses: Vec<Vec<String>>,
}

/// All modules of all crates.
pub(super) struct Modules<'a> {
    tree: &'a Tree,
    all: Vec<Module>,
    /// The root module of each crate, by the crate's name in code.
    crates: BTreeMap<String, ModuleId>,
}

impl<'a> Modules<'a> {
    /// Reads every crate, beginning with its `lib.rs` or `main.rs`.
    pub(super) fn read(tree: &'a Tree) -> Result<Self, Finding> {
        let mut modules = Self { tree, all: Vec::new(), crates: BTreeMap::new() };
        for file in tree.rust() {
            if let Some(name) = crate_of(&file.path) {
                let root = modules.load(&file.path, None)?;
                modules.crates.insert(name, root);
            }
        }
        Ok(modules)
    }

    /// Returns the path of the file that contains a module.
    pub(super) fn file(&self, at: ModuleId) -> &str {
        &self.all[at.0].file
    }

    /// Returns the parent module.
    pub(super) fn parent(&self, at: ModuleId) -> Option<ModuleId> {
        self.all[at.0].parent
    }

    /// Returns the root module of the crate that contains `at`.
    pub(super) fn root(&self, at: ModuleId) -> ModuleId {
        ModuleId(self.all[at.0].root)
    }

    /// Returns the root module of the crate that code calls `name`.
    pub(super) fn krate(&self, name: &str) -> Option<ModuleId> {
        self.crates.get(name).copied()
    }

    /// Returns the meanings of `name` in `at`; a module and a function may have the same name.
    pub(super) fn meanings(&self, at: ModuleId, name: &str) -> &[Meaning] {
        self.all[at.0].names.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the paths of glob imports (`use path::*`) in `at`, as written.
    pub(super) fn globs(&self, at: ModuleId) -> &[Vec<String>] {
        &self.all[at.0].globs
    }

    /// Returns every path in code, with its module.
    pub(super) fn uses(&self) -> impl Iterator<Item = (ModuleId, &[String])> {
        self.all.iter().enumerate().flat_map(|(i, module)| {
            module.uses.iter().map(move |path| (ModuleId(i), path.as_slice()))
        })
    }

    fn load(&mut self, path: &str, parent: Option<ModuleId>) -> Result<ModuleId, Finding> {
        let text = self.tree.get(path).map_or("", |file| file.text.as_str());
        let parsed = syn::parse_file(text)
            .map_err(|error| Finding::new(path, 1, format!("cannot be parsed as Rust: {error}")))?;
        let base = match path.rsplit_once('/') {
            Some((dir, "mod.rs" | "lib.rs" | "main.rs")) => dir.to_owned(),
            _ => path.trim_end_matches(".rs").to_owned(),
        };
        self.add(path, &base, parent, &parsed.items)
    }

    /// Adds the module that consists of `items` in the file `path`; files of its child modules are
    /// below `base`.
    fn add(
        &mut self,
        path: &str,
        base: &str,
        parent: Option<ModuleId>,
        items: &[syn::Item],
    ) -> Result<ModuleId, Finding> {
        let id = ModuleId(self.all.len());
        let root = parent.map_or(id.0, |parent| self.all[parent.0].root);
        self.all.push(Module { file: path.to_owned(), parent, root, ..Module::default() });
        let mut names = Names::default();
        for item in items {
            names.visit_item(item);
        }
        for module in names.modules {
            let name = module.ident.to_string();
            let child = match &module.content {
                Some((_, items)) => self.add(path, &format!("{base}/{name}"), Some(id), items)?,
                None => {
                    let flat = format!("{base}/{name}.rs");
                    let nested = format!("{base}/{name}/mod.rs");
                    let file = if self.tree.get(&flat).is_some() { flat } else { nested };
                    self.load(&file, Some(id))?
                }
            };
            self.all[id.0].names.entry(name).or_default().push(Meaning::Module(child));
        }
        let module = &mut self.all[id.0];
        for (name, meaning) in names.meanings {
            module.names.entry(name).or_default().push(meaning);
        }
        module.globs = names.globs;
        module.uses = names.uses;
        Ok(id)
    }
}

/// Returns what code calls the crate whose root is the file `path`; `None` if it is no root.
fn crate_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let name = match parts[..] {
        ["crates", name, "src", "lib.rs" | "main.rs"] => name,
        ["xtask", "src", "lib.rs" | "main.rs"] => return Some("xtask".to_owned()),
        [name, "src", "lib.rs" | "main.rs"] => name,
        _ => return None,
    };
    Some(format!("garland_{}", name.replace('-', "_")))
}

/// Collects the names of one module; child modules are only recorded.
#[derive(Default)]
struct Names<'a> {
    meanings: Vec<(String, Meaning)>,
    globs: Vec<Vec<String>>,
    uses: Vec<Vec<String>>,
    modules: Vec<&'a syn::ItemMod>,
}

impl Names<'_> {
    fn define(&mut self, name: &syn::Ident) {
        self.meanings.push((name.to_string(), Meaning::Item));
    }

    fn import(&mut self, prefix: &[String], tree: &syn::UseTree, exported: bool) {
        let mut path = prefix.to_vec();
        match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.import(&path, &inner.tree, exported);
            }
            syn::UseTree::Group(group) => {
                for inner in &group.items {
                    self.import(&path, inner, exported);
                }
            }
            syn::UseTree::Glob(_) => self.globs.push(path),
            syn::UseTree::Name(name) => {
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                let known = path.last().cloned().unwrap_or_default();
                self.imported(known, path, exported);
            }
            syn::UseTree::Rename(name) => {
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                self.imported(name.rename.to_string(), path, exported);
            }
        }
    }

    fn imported(&mut self, name: String, path: Vec<String>, exported: bool) {
        if !exported {
            self.uses.push(path.clone());
        }
        self.meanings.push((name, Meaning::Import(path)));
    }

    /// Collects paths from the tokens of a macro's arguments, which are not parsed.
    fn words(&mut self, tokens: proc_macro2::TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.end(&mut path);
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                proc_macro2::TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                proc_macro2::TokenTree::Group(group) => {
                    self.end(&mut path);
                    self.words(group.stream());
                    colons = 0;
                }
                _ => {
                    self.end(&mut path);
                    colons = 0;
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        if !path.is_empty() {
            self.uses.push(std::mem::take(path));
        }
    }
}

impl<'a> Visit<'a> for Names<'a> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if for_tests(attributes(item)) {
            return;
        }
        match item {
            syn::Item::Mod(module) => return self.modules.push(module),
            syn::Item::Use(import) => {
                let exported = !matches!(import.vis, syn::Visibility::Inherited);
                return self.import(&[], &import.tree, exported);
            }
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Union(item) => self.define(&item.ident),
            syn::Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.define(name);
                }
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        if let syn::ImplItem::Fn(function) = item
            && for_tests(&function.attrs)
        {
            return;
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.uses.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.words(call.tokens.clone());
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether an item with these attributes is compiled for tests only.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().starts_with("test")
        }
        _ => false,
    })
}
