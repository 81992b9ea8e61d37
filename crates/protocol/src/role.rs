//! What the owner of a key may ask of an agent. An order is admitted where it is parsed, before
//! anything is opened: whoever obeys takes an [`Admitted`] order, which only [`Grant::admit`]
//! makes.
//!
//! Each order and each request for files has a kind, and each role decides on every kind: a new
//! order does not compile before each role has an answer. `docs/security.md` has the table of
//! [`table`], and a test compares them.

// A kind without a decision must not compile.
#![deny(clippy::wildcard_enum_match_arm)]

use std::fmt;

use crate::files::Ask;
use crate::message::ToAgent;
use crate::names::{HolderKind, NamesOrder};
use crate::wire::GreetingRate;

/// Who the owner of a key is to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user who started the agent. The user's commands have this role.
    Controller,
    /// A node of the user's cluster. Commands on it read names and their contents.
    Member,
    /// A node of a farm. It reads and writes the files of its jobs on the head.
    FarmNode,
}

/// What one key may use at an agent at a time. The connection of whoever goes beyond is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How often it may greet; `None` for as often as it likes.
    pub greetings: Option<GreetingRate>,
    /// How often it may greet with the secrets of its mounts; `None` for as often as it likes.
    pub mount_greetings: Option<GreetingRate>,
    /// The maximum number of open sessions.
    pub sessions: usize,
    /// The maximum number of threads that execute its orders and requests for files.
    pub threads: usize,
    /// The maximum number of mounts of one session, each of which has two connections for files.
    pub mounts: usize,
    /// The maximum number of open files and directories of all its mounts.
    pub open_files: usize,
    /// The maximum number of threads of one connection for files.
    pub threads_of_connection: usize,
    /// The bytes of messages of one session that it has not acknowledged. Beyond, the agent waits
    /// before it sends more.
    pub unacknowledged_bytes: usize,
}

/// The mode of fallocate(2) that makes a hole: `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_KEEP_SIZE`.
const PUNCH_HOLE: u32 = 3;

/// How often a node may greet: a `get` opens one session with each agent, and some again.
const NODE_GREETINGS: Option<GreetingRate> = Some(GreetingRate { per_s: 10, at_once: 64 });

/// How often a node may greet for its mounts: each of its sessions has one or two, of
/// [`FILES_LINKS`](crate::files::FILES_LINKS) connections.
const NODE_MOUNT_GREETINGS: Option<GreetingRate> = Some(GreetingRate { per_s: 20, at_once: 128 });

/// What the owner of a key may do at an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who the owner is.
    pub role: Role,
    /// The name of the node to which the key belongs; empty for a controller.
    pub node: String,
    /// Whether that is the node of the agent which decides.
    pub is_own: bool,
}

/// An order that the role of its sender admits.
#[derive(Debug)]
pub struct Admitted(ToAgent);

/// An order that the role of its sender does not admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    role: Role,
    what: String,
}

/// Defines an enumeration of kinds, the list of all of them, and what each is in words.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($kind:ident: $words:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $words] $kind,)*
        }

        impl $name {
            /// All kinds, in the order of the table of roles.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns what the kind is, in words.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$kind => $words,)*
                }
            }
        }
    };
}

kinds! {
    /// The kinds of orders to an agent.
    OrderKind {
        Session: "keep a session, tell the time",
        Files: "open connections for files (below)",
        FindNames: "list names",
        ReadManifest: "read the manifest of a name",
        Pieces: "send pieces of a manifest (a member: to the agent of its own node only)",
        Fetch: "tell that a node fetches a content (a member: its own node only)",
        Hold: "tell that a node holds a content (a member: its own node only)",
        Register: "have the agent serve a content from a path (a member: the agent of its own node only)",
        KeepName: "record what a name stands for",
        DigestPath: "describe the files at a path",
        LocatePath: "tell where a copy has put its files",
        Membership: "say who the members are",
        View: "tell the node's activity and command lines",
        Copy: "take part in a copy",
        StandingLinks: "keep links between agents for later copies",
        Execute: "run commands",
        Farm: "run jobs",
        Shutdown: "end",
        ServeProgram: "give the program to other nodes",
        Survey: "survey the network",
        Meeting: "measure the network with another agent",
        DiskTest: "test disks",
        BalanceTest: "test disks and network together",
        Stat: "tell the attributes of files, also by patterns of paths",
        Compare: "compare files before a copy",
        Examine: "examine the node and a destination",
    }
}

kinds! {
    /// The kinds of requests over connections for files.
    AskKind {
        Block: "read a block of a registered content, by name and number",
        Read: "read files, by path (a node of a farm: below the directories of the jobs)",
        Look: "read attributes, links and directories, by path (likewise)",
        Write: "create, write, change, rename and remove files, by path (likewise)",
        Reserve: "reserve disk space of open files for what is not written yet",
    }
}

impl ToAgent {
    /// Returns the kind of this order.
    #[must_use]
    pub fn kind(&self) -> OrderKind {
        match self {
            Self::Ping | Self::Clock(_) | Self::Session(_) => OrderKind::Session,
            Self::Files(_) => OrderKind::Files,
            Self::Names(order) => order.kind(),
            Self::View => OrderKind::View,
            Self::Begin(_)
            | Self::Queue(..)
            | Self::Route(..)
            | Self::Detach(_)
            | Self::Commit(..)
            | Self::Close(_)
            | Self::Attach(..)
            | Self::Prepare(..)
            | Self::Settle(_) => OrderKind::Copy,
            Self::Stand(..) => OrderKind::StandingLinks,
            Self::Exec(_) | Self::Input(_) => OrderKind::Execute,
            Self::Farm(_) => OrderKind::Farm,
            Self::Shutdown => OrderKind::Shutdown,
            Self::ServeBinary(..) => OrderKind::ServeProgram,
            Self::Survey(_) => OrderKind::Survey,
            Self::Probe(_) | Self::EndProbe(_) | Self::Helper(..) => OrderKind::Meeting,
            Self::Disk(_) => OrderKind::DiskTest,
            Self::Balance(_) => OrderKind::BalanceTest,
            Self::Stat(_) => OrderKind::Stat,
            Self::Compare(_) => OrderKind::Compare,
            Self::Examine(_) => OrderKind::Examine,
        }
    }
}

impl NamesOrder {
    fn kind(&self) -> OrderKind {
        match self {
            Self::Find(_) => OrderKind::FindNames,
            Self::Manifest(_) => OrderKind::ReadManifest,
            Self::Piece(..) => OrderKind::Pieces,
            Self::Fetch(..) => OrderKind::Fetch,
            Self::Hold(..) => OrderKind::Hold,
            Self::Register { .. } => OrderKind::Register,
            Self::Keep(..) => OrderKind::KeepName,
            Self::Digest(_) => OrderKind::DigestPath,
            Self::Locate { .. } => OrderKind::LocatePath,
            Self::MemberKey { .. } | Self::Members => OrderKind::Membership,
        }
    }
}

impl Ask {
    /// Returns the kind of this request.
    #[must_use]
    pub fn kind(&self) -> AskKind {
        match self {
            Self::Block { .. } | Self::Holds { .. } => AskKind::Block,
            Self::Stat(_)
            | Self::ReadLink(_)
            | Self::Access(..)
            | Self::List(_)
            | Self::ListOn(_)
            | Self::Close(_)
            | Self::Space(_) => AskKind::Look,
            Self::Open(_, flags) if flags.changes() => AskKind::Write,
            // It changes nothing that others see.
            Self::SyncFolder(_) => AskKind::Look,
            Self::Open(..) | Self::Read(..) | Self::Seek(..) => AskKind::Read,
            // A hole takes no space.
            Self::Allocate(_, mode, ..) if *mode != PUNCH_HOLE => AskKind::Reserve,
            Self::Change(..)
            | Self::Make(..)
            | Self::Link(..)
            | Self::Remove(_)
            | Self::RemoveFolder(_)
            | Self::Rename(..)
            | Self::Write(..)
            | Self::WriteChange(..)
            | Self::Sync(..)
            | Self::Allocate(..) => AskKind::Write,
        }
    }
}

impl Role {
    /// All roles, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Controller, Self::Member, Self::FarmNode];

    /// Returns the role in words, for messages and the table.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Member => "member",
            Self::FarmNode => "node of a farm",
        }
    }

    /// Returns what each key of this role may use at a time.
    #[must_use]
    pub const fn budget(self) -> Budget {
        match self {
            Self::Controller => Budget {
                // It has its user's rights on the node, and scripts give many short commands.
                greetings: None,
                mount_greetings: None,
                sessions: 64,
                threads: 256,
                mounts: 8,
                open_files: 16 << 10,
                threads_of_connection: 8,
                // A head that reads nothing stops its agent by its full socket.
                unacknowledged_bytes: usize::MAX,
            },
            Self::Member => Budget {
                greetings: NODE_GREETINGS,
                mount_greetings: NODE_MOUNT_GREETINGS,
                sessions: 8,
                threads: 48,
                mounts: 1,
                open_files: 0,
                threads_of_connection: 3,
                unacknowledged_bytes: 512 << 10,
            },
            Self::FarmNode => Budget {
                greetings: NODE_GREETINGS,
                mount_greetings: NODE_MOUNT_GREETINGS,
                sessions: 4,
                threads: 48,
                mounts: 2,
                open_files: 1024,
                threads_of_connection: 8,
                unacknowledged_bytes: 1 << 20,
            },
        }
    }

    /// Returns whether this role may give orders of this kind.
    #[must_use]
    pub const fn may_order(self, kind: OrderKind) -> bool {
        match self {
            Self::Controller => true,
            Self::Member => match kind {
                OrderKind::Session
                | OrderKind::Files
                | OrderKind::FindNames
                | OrderKind::ReadManifest
                | OrderKind::Pieces
                | OrderKind::Fetch
                | OrderKind::Hold
                | OrderKind::Register => true,
                OrderKind::KeepName
                | OrderKind::DigestPath
                | OrderKind::LocatePath
                | OrderKind::Membership
                | OrderKind::View
                | OrderKind::Copy
                | OrderKind::StandingLinks
                | OrderKind::Execute
                | OrderKind::Farm
                | OrderKind::Shutdown
                | OrderKind::ServeProgram
                | OrderKind::Survey
                | OrderKind::Meeting
                | OrderKind::DiskTest
                | OrderKind::BalanceTest
                | OrderKind::Stat
                | OrderKind::Compare
                | OrderKind::Examine => false,
            },
            Self::FarmNode => match kind {
                OrderKind::Session | OrderKind::Files => true,
                OrderKind::FindNames
                | OrderKind::ReadManifest
                | OrderKind::Pieces
                | OrderKind::Fetch
                | OrderKind::Hold
                | OrderKind::Register
                | OrderKind::KeepName
                | OrderKind::DigestPath
                | OrderKind::LocatePath
                | OrderKind::Membership
                | OrderKind::View
                | OrderKind::Copy
                | OrderKind::StandingLinks
                | OrderKind::Execute
                | OrderKind::Farm
                | OrderKind::Shutdown
                | OrderKind::ServeProgram
                | OrderKind::Survey
                | OrderKind::Meeting
                | OrderKind::DiskTest
                | OrderKind::BalanceTest
                | OrderKind::Stat
                | OrderKind::Compare
                | OrderKind::Examine => false,
            },
        }
    }

    /// Returns whether this role may send requests of this kind over connections for files.
    #[must_use]
    pub const fn may_ask(self, kind: AskKind) -> bool {
        match (self, kind) {
            (Self::Controller, _) | (Self::Member, AskKind::Block) => true,
            (Self::Member, AskKind::Look | AskKind::Read | AskKind::Write | AskKind::Reserve) => {
                false
            }
            (Self::FarmNode, AskKind::Look | AskKind::Read | AskKind::Write) => true,
            // One small message would take all space of the head's disk: what a node writes costs
            // it the bytes.
            (Self::FarmNode, AskKind::Block | AskKind::Reserve) => false,
        }
    }
}

impl Grant {
    /// Returns the grant of a controller.
    #[must_use]
    pub fn controller() -> Self {
        Self { role: Role::Controller, node: String::new(), is_own: false }
    }

    /// Returns the grant of the member `node`; `is_own` says whether it is the node of the agent
    /// which decides.
    #[must_use]
    pub fn member(node: &str, is_own: bool) -> Self {
        Self { role: Role::Member, node: node.to_owned(), is_own }
    }

    /// Returns the grant of the node `node` of a farm.
    #[must_use]
    pub fn farm_node(node: &str) -> Self {
        Self { role: Role::FarmNode, node: node.to_owned(), is_own: false }
    }

    /// Admits an order.
    ///
    /// # Errors
    /// When the role may not give it, or a member speaks of another node than its own.
    pub fn admit(&self, order: ToAgent) -> Result<Admitted, Refused> {
        let kind = order.kind();
        if !self.role.may_order(kind) {
            return Err(self.refused(kind.words().to_owned()));
        }
        if self.role == Role::Member
            && let ToAgent::Names(order) = &order
        {
            self.admit_of_member(order)?;
        }
        Ok(Admitted(order))
    }

    /// Checks that a member speaks of its own node, and has only the agent of that node serve
    /// files.
    fn admit_of_member(&self, order: &NamesOrder) -> Result<(), Refused> {
        let is_of_own_node = match order {
            NamesOrder::Hold(_, _, holder) | NamesOrder::Fetch(_, _, holder) => {
                holder.kind == HolderKind::Node && holder.node == self.node
            }
            NamesOrder::Register { .. } | NamesOrder::Piece(..) => self.is_own,
            NamesOrder::Find(_)
            | NamesOrder::Manifest(_)
            | NamesOrder::Keep(..)
            | NamesOrder::Digest(_)
            | NamesOrder::Locate { .. }
            | NamesOrder::MemberKey { .. }
            | NamesOrder::Members => true,
        };
        let elsewhere = || self.refused("speak of another node than its own".to_owned());
        if is_of_own_node { Ok(()) } else { Err(elsewhere()) }
    }

    fn refused(&self, what: String) -> Refused {
        Refused { role: self.role, what }
    }
}

impl Admitted {
    /// Returns the order, to look at.
    #[must_use]
    pub fn order(&self) -> &ToAgent {
        &self.0
    }

    /// Returns the order.
    #[must_use]
    pub fn into_order(self) -> ToAgent {
        self.0
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} may not {}", self.role.words(), self.what)
    }
}

/// Returns the table of roles and orders in Markdown, for `docs/security.md`.
#[must_use]
pub fn table() -> String {
    let mut text = String::from("| an order to an agent |");
    Role::ALL.iter().for_each(|role| text += &format!(" {} |", role.words()));
    text += "\n|---|";
    text += &"---|".repeat(Role::ALL.len());
    let mut row = |words: &str, may: &dyn Fn(Role) -> bool| {
        text += &format!("\n| {words} |");
        for role in Role::ALL {
            text += if may(role) { " yes |" } else { " - |" };
        }
    };
    for kind in OrderKind::ALL {
        row(kind.words(), &|role| role.may_order(*kind));
    }
    for kind in AskKind::ALL {
        row(kind.words(), &|role| role.may_ask(*kind));
    }
    text
}

/// Returns the table of what each key may use, in Markdown, for `docs/security.md`.
#[must_use]
pub fn budget_table() -> String {
    let mut text = String::from("| |");
    Role::ALL.iter().for_each(|role| text += &format!(" {} |", role.words()));
    text += "\n|---|";
    text += &"--:|".repeat(Role::ALL.len());
    let mut row = |words: &str, of_budget: &dyn Fn(Budget) -> String| {
        text += &format!("\n| {words} |");
        Role::ALL.iter().for_each(|role| text += &format!(" {} |", of_budget(role.budget())));
    };
    let rate = |rate: Option<GreetingRate>| match rate {
        None => "-".to_owned(),
        Some(GreetingRate { per_s, at_once }) => format!("{per_s} ({at_once})"),
    };
    row("new sessions in a second (at once, after a pause)", &|budget| rate(budget.greetings));
    row("connections of its mounts, likewise", &|budget| rate(budget.mount_greetings));
    row("sessions", &|budget| budget.sessions.to_string());
    row("threads for its orders and files", &|budget| budget.threads.to_string());
    row("mounts of a session", &|budget| budget.mounts.to_string());
    row("open files of all its mounts", &|budget| budget.open_files.to_string());
    row("unacknowledged KiB of a session", &|budget| match budget.unacknowledged_bytes {
        usize::MAX => "-".to_owned(),
        bytes => (bytes >> 10).to_string(),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_on_security_has_these_tables() {
        let page = include_str!("../../../docs/security.md");
        for table in [table(), budget_table()] {
            assert!(page.contains(&table), "docs/security.md lacks this table:\n{table}");
        }
    }

    #[test]
    fn a_controller_gives_all_orders_and_others_change_and_run_nothing() {
        assert!(OrderKind::ALL.iter().all(|kind| Role::Controller.may_order(*kind)));
        assert!(AskKind::ALL.iter().all(|kind| Role::Controller.may_ask(*kind)));
        for role in [Role::Member, Role::FarmNode] {
            for kind in [OrderKind::Execute, OrderKind::Farm, OrderKind::Copy, OrderKind::Shutdown]
            {
                assert!(!role.may_order(kind), "{role:?} {kind:?}");
            }
        }
    }
}
