//! Headers, stacks, unions and metadata: what the file calls them, and where they are in the P4
//! text.
//!
//! Headers are members of a struct `hdr_t`, metadata those of `meta_t`. The standard metadata of
//! simple_switch is v1model's; what files say of it that v1model does not have is metadata of the
//! program's own. Names of old programs (`intrinsic_metadata`, `queueing_metadata`) mean the same
//! fields.

use super::field::{FieldRef, Kind};
use super::json::{Node, Read};
use super::psa_metadata;
use super::text::{Names, Text};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The widest field.
const MAX_BITS: u32 = netil::wide::MAX_WIDTH as u32;
/// The most headers of a file.
const MAX_HEADERS: usize = 10_000;

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub name: String,
    pub ident: String,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) struct HeaderType {
    pub ident: String,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub(super) struct UnionType {
    ident: String,
    /// Members: names, and their header types.
    pub members: Vec<(String, usize)>,
}

/// A header or metadata.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// How it is written.
    pub place: String,
    pub ty: usize,
    pub metadata: bool,
}

/// Stacks, unions, stacks of unions: how they are written, and the type of what they have.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub place: String,
    pub ty: usize,
}

#[derive(Default)]
pub(super) struct Layout {
    /// The file is for psa_switch.
    pub is_psa: bool,
    pub types: Vec<HeaderType>,
    pub unions: Vec<UnionType>,
    pub instances: HashMap<String, Instance>,
    /// By number: their names.
    by_id: HashMap<u64, String>,
    pub stacks: HashMap<String, Group>,
    pub union_places: HashMap<String, Group>,
    union_ids: HashMap<u64, String>,
    pub union_stacks: HashMap<String, Group>,
    /// Members of `hdr_t`.
    headers: Vec<String>,
    /// The field lists that fields of metadata are in.
    kept: HashMap<(String, usize), Vec<u32>>,
    /// The field lists that fields of the standard metadata are in, and what these fields hold.
    kept_standard: BTreeMap<&'static str, (Kind, Vec<u32>)>,
    /// The member of `meta_t` for them.
    kept_ident: String,
    /// Fields of the standard metadata that are named anywhere.
    named: HashSet<String>,
    /// Other names of fields.
    aliases: HashMap<(String, String), (String, String)>,
}

/// The fields of v1model's standard metadata.
const STANDARD: &[(&str, Kind)] = &[
    ("ingress_port", Kind::Bits(9)),
    ("egress_spec", Kind::Bits(9)),
    ("egress_port", Kind::Bits(9)),
    ("instance_type", Kind::Bits(32)),
    ("packet_length", Kind::Bits(32)),
    ("enq_timestamp", Kind::Bits(32)),
    ("enq_qdepth", Kind::Bits(19)),
    ("deq_timedelta", Kind::Bits(32)),
    ("deq_qdepth", Kind::Bits(19)),
    ("ingress_global_timestamp", Kind::Bits(48)),
    ("egress_global_timestamp", Kind::Bits(48)),
    ("mcast_grp", Kind::Bits(16)),
    ("egress_rid", Kind::Bits(16)),
    ("checksum_error", Kind::Bits(1)),
    ("parser_error", Kind::Error),
    ("priority", Kind::Bits(3)),
];

/// What the switch sets itself when it begins with a packet that comes round, or with egress.
const SET_BY_INGRESS: &[&str] = &["instance_type", "packet_length", "parser_error", "checksum_error"];
const SET_BY_EGRESS: &[&str] = &[
    "instance_type",
    "packet_length",
    "egress_port",
    "egress_spec",
    "egress_rid",
    "egress_global_timestamp",
    "deq_timedelta",
    "deq_qdepth",
];

/// Names of old programs for fields of the standard metadata.
const OLD: &[(&str, &str, &str)] = &[
    ("intrinsic_metadata", "mcast_grp", "mcast_grp"),
    ("intrinsic_metadata", "egress_rid", "egress_rid"),
    ("intrinsic_metadata", "ingress_global_timestamp", "ingress_global_timestamp"),
    ("intrinsic_metadata", "egress_global_timestamp", "egress_global_timestamp"),
    ("intrinsic_metadata", "current_egress_timestamp", "egress_global_timestamp"),
    ("intrinsic_metadata", "priority", "priority"),
    ("queueing_metadata", "enq_timestamp", "enq_timestamp"),
    ("queueing_metadata", "enq_qdepth", "enq_qdepth"),
    ("queueing_metadata", "deq_timedelta", "deq_timedelta"),
    ("queueing_metadata", "deq_qdepth", "deq_qdepth"),
];

impl Layout {
    pub fn read(root: &Node<'_>, names: &mut Names) -> Read<Self> {
        let mut layout = Self { named: root.pairs("standard_metadata"), is_psa: psa_metadata::is_psa(root)?, ..Self::default() };
        let mut types = HashMap::new();
        for node in root.each("header_types")? {
            let name = node.need("name")?.text()?;
            let made = header_type(&node, name, names)?;
            types.insert(name.to_owned(), layout.types.len());
            layout.types.push(made);
        }
        let mut members = Names::default();
        layout.groups(root, &types, &mut members, names)?;
        for node in root.each("headers")? {
            layout.instance(&node, &types, &mut members)?;
        }
        layout.aliases(root)?;
        layout.lists(root)?;
        layout.kept_ident = members.fresh("kept");
        Ok(layout)
    }

    /// Stacks and unions, and the headers that are in them.
    fn groups(&mut self, root: &Node<'_>, types: &HashMap<String, usize>, members: &mut Names, names: &mut Names) -> Read<()> {
        let mut unions = HashMap::new();
        for node in root.each("header_union_types")? {
            let name = node.need("name")?.text()?;
            let mut own = Names::default();
            let mut all = Vec::new();
            for member in node.need("headers")?.list()? {
                let [name, ty] = member.just()?;
                all.push((own.fresh(name.text()?), known(&ty, types, "header type")?));
            }
            unions.insert(name.to_owned(), self.unions.len());
            self.unions.push(UnionType { ident: names.fresh(name), members: all });
        }
        for node in root.each("header_union_stacks")? {
            let name = node.need("name")?.text()?;
            let (ty, ids) = (known(&node.need("union_type")?, &unions, "union type")?, node.need("header_union_ids")?.list()?);
            let ident = members.fresh(name);
            for (n, id) in ids.iter().enumerate() {
                self.union_ids.insert(id.number()?, format!("hdr.{ident}[{n}]"));
            }
            self.headers.push(format!("{}[{}] {ident};", self.unions[ty].ident, ids.len()));
            self.union_stacks.insert(name.to_owned(), Group { place: format!("hdr.{ident}"), ty });
        }
        for node in root.each("header_unions")? {
            self.union(&node, &unions, members)?;
        }
        for node in root.each("header_stacks")? {
            let name = node.need("name")?.text()?;
            let (ty, ids) = (known(&node.need("header_type")?, types, "header type")?, node.need("header_ids")?.list()?);
            let ident = members.fresh(name);
            for (n, id) in ids.iter().enumerate() {
                self.by_id.insert(id.number()?, format!("hdr.{ident}[{n}]"));
            }
            self.headers.push(format!("{}[{}] {ident};", self.types[ty].ident, ids.len()));
            self.stacks.insert(name.to_owned(), Group { place: format!("hdr.{ident}"), ty });
        }
        Ok(())
    }

    fn union(&mut self, node: &Node<'_>, unions: &HashMap<String, usize>, members: &mut Names) -> Read<()> {
        let name = node.need("name")?.text()?;
        let ty = known(&node.need("union_type")?, unions, "union type")?;
        let place = match self.union_ids.get(&node.need("id")?.number()?) {
            Some(place) => place.clone(),
            None => {
                let ident = members.fresh(name);
                self.headers.push(format!("{} {ident};", self.unions[ty].ident));
                format!("hdr.{ident}")
            }
        };
        let ids = node.need("header_ids")?.list()?;
        if ids.len() != self.unions[ty].members.len() {
            return node.need("header_ids")?.wrong(format!("the union type has {} members", self.unions[ty].members.len()));
        }
        for (id, (member, _)) in ids.iter().zip(&self.unions[ty].members) {
            self.by_id.insert(id.number()?, format!("{place}.{member}"));
        }
        self.union_places.insert(name.to_owned(), Group { place, ty });
        Ok(())
    }

    fn instance(&mut self, node: &Node<'_>, types: &HashMap<String, usize>, members: &mut Names) -> Read<()> {
        let name = node.need("name")?.text()?;
        let ty = known(&node.need("header_type")?, types, "header type")?;
        let metadata = node.flag("metadata", false)?;
        if self.instances.len() >= MAX_HEADERS {
            return node.wrong(format!("more than {MAX_HEADERS} headers"));
        }
        let place = match self.by_id.get(&node.need("id")?.number()?) {
            Some(place) if !metadata => place.clone(),
            _ => {
                let ident = members.fresh(if name == "standard_metadata" { "standard" } else { name });
                if !metadata {
                    self.headers.push(format!("{} {ident};", self.types[ty].ident));
                }
                format!("{}.{ident}", if metadata { "meta" } else { "hdr" })
            }
        };
        match self.instances.insert(name.to_owned(), Instance { place, ty, metadata }) {
            None => Ok(()),
            Some(_) => node.need("name")?.wrong(format!("`{name}` is declared twice")),
        }
    }

    fn aliases(&mut self, root: &Node<'_>) -> Read<()> {
        if self.is_psa {
            return Ok(());
        }
        let standard = |field: &str| ("standard_metadata".to_owned(), field.to_owned());
        for (header, field, means) in OLD {
            self.aliases.insert(((*header).to_owned(), (*field).to_owned()), standard(means));
        }
        for pair in root.each("field_aliases")? {
            let [expected, field] = pair.just()?;
            let [header, field] = field.just()?;
            let means = expected.text()?.rsplit_once('.').map_or("", |(_, field)| field);
            let known = STANDARD.iter().any(|(name, _)| *name == means);
            if known && header.text()? != "standard_metadata" {
                self.aliases.insert((header.text()?.to_owned(), field.text()?.to_owned()), standard(means));
            }
        }
        Ok(())
    }

    /// Metadata that field lists keep.
    fn lists(&mut self, root: &Node<'_>) -> Read<()> {
        for list in root.each("field_lists")? {
            let id = list.need("id")?.small(u32::from(u8::MAX))?;
            for element in list.each("elements")? {
                let (what, value) = element.typed()?;
                if what != "field" {
                    continue;
                }
                if let Some((name, kind)) = self.standard(&value)? {
                    self.kept_standard.entry(name).or_insert((kind, Vec::new())).1.push(id);
                    continue;
                }
                let [header, field] = value.just()?;
                let (Some(instance), field) = (self.instances.get(header.text()?).filter(|i| i.metadata), field.text()?) else { continue };
                if let Some(n) = self.types[instance.ty].fields.iter().position(|f| f.name == field) {
                    self.kept.entry((header.text()?.to_owned(), n)).or_default().push(id);
                }
            }
        }
        Ok(())
    }

    /// A header or metadata by its name.
    pub fn header(&self, node: &Node<'_>) -> Read<&Instance> {
        let name = node.text()?;
        self.instances.get(name).map_or_else(|| node.wrong(format!("no header is called `{name}`")), Ok)
    }

    /// A field of v1model's standard metadata by the names of its header and its own, if it is one.
    fn standard(&self, node: &Node<'_>) -> Read<Option<(&'static str, Kind)>> {
        let [header, field] = node.just()?;
        let names = (header.text()?.to_owned(), field.text()?.to_owned());
        let alias = self.aliases.get(&names);
        let is_standard = alias.is_some() || names.0 == "standard_metadata";
        let (_, name) = alias.unwrap_or(&names);
        Ok(STANDARD.iter().find(|(n, _)| is_standard && n == name).copied())
    }

    /// Statements that keep the standard metadata of field lists for copies of the packet.
    pub fn keep(&self) -> Vec<String> {
        let line = |name: &&str| format!("meta.{}.{name} = standard_metadata.{name};", self.kept_ident);
        self.kept_standard.keys().map(line).collect()
    }

    /// Statements that give it back to a copy that begins with ingress, or with egress, but for
    /// what the switch sets itself there.
    pub fn kept(&self, egress: bool) -> Vec<String> {
        let own = if egress { SET_BY_EGRESS } else { SET_BY_INGRESS };
        let line = |name: &&str| format!("standard_metadata.{name} = meta.{}.{name};", self.kept_ident);
        self.kept_standard.keys().filter(|name| !own.contains(name)).map(line).collect()
    }

    /// Statements that make a header valid: the fields of one that was invalid become 0.
    pub fn made_valid(&self, place: &str, ty: usize) -> Vec<String> {
        let zero = |field: &Field| match field.kind {
            Kind::Bits(w) => Some(format!("{place}.{} = {w}w0;", field.ident)),
            Kind::Signed(w) => Some(format!("{place}.{} = (int<{w}>){w}w0;", field.ident)),
            _ => None,
        };
        let mut lines = vec![format!("if (!{place}.isValid()) {{"), format!("{place}.setValid();")];
        lines.extend(self.types[ty].fields.iter().filter_map(zero));
        lines.push("}".to_owned());
        lines
    }

    /// A field by the names of its header and its own.
    pub fn field(&self, node: &Node<'_>) -> Read<FieldRef> {
        if self.is_psa
            && let [header, field] = node.just()?
            && let Some(place) = psa_metadata::field(header.text()?, field.text()?)
        {
            return Ok(place);
        }
        if let Some((name, kind)) = self.standard(node)? {
            return Ok(FieldRef { text: format!("standard_metadata.{name}"), kind });
        }
        let [header, field] = node.just()?;
        let instance = self.header(&header)?;
        if field.text()? == "$valid$" {
            return Ok(FieldRef { text: format!("(bit<1>){}.isValid()", instance.place), kind: Kind::Valid });
        }
        self.member(instance.ty, &instance.place, &field)
    }

    /// A field of a header that is written like that.
    pub fn member(&self, ty: usize, place: &str, field: &Node<'_>) -> Read<FieldRef> {
        let name = field.text()?;
        match self.types[ty].fields.iter().find(|f| f.name == name) {
            Some(found) => Ok(FieldRef { text: format!("{place}.{}", found.ident), kind: found.kind }),
            None => field.wrong(format!("the header has no field `{name}`")),
        }
    }

    /// A field by its number.
    pub fn nth(&self, ty: usize, place: &str, node: &Node<'_>) -> Read<FieldRef> {
        let n = node.number()? as usize;
        match self.types[ty].fields.get(n) {
            Some(found) => Ok(FieldRef { text: format!("{place}.{}", found.ident), kind: found.kind }),
            None => node.wrong(format!("the header has {} fields", self.types[ty].fields.len())),
        }
    }

    /// Writes the declarations.
    pub fn declare(&self, text: &mut Text) {
        for ty in &self.types {
            text.line(&format!("header {} {{", ty.ident));
            ty.fields.iter().for_each(|f| text.line(&format!("{} {};", f.kind.shown(), f.ident)));
            text.line("}");
        }
        for union in &self.unions {
            text.line(&format!("header_union {} {{", union.ident));
            union.members.iter().for_each(|(name, ty)| text.line(&format!("{} {name};", self.types[*ty].ident)));
            text.line("}");
        }
        let mut all: Vec<_> =
            self.instances.iter().filter(|(name, i)| i.metadata && !(self.is_psa && psa_metadata::is_own(name))).collect();
        all.sort_by_key(|(_, i)| &i.place);
        for (name, instance) in &all {
            text.line(&format!("struct {} {{", struct_of(&instance.place)));
            let fields = self.types[instance.ty].fields.iter().enumerate();
            // Of the standard metadata what v1model has not, if anything names it.
            let own = |f: &Field| self.named.contains(&f.name) && STANDARD.iter().all(|(name, _)| *name != f.name);
            for (n, field) in fields.filter(|(_, f)| *name != "standard_metadata" || own(f)) {
                let lists = self.kept.get(&((*name).clone(), n)).map_or_else(String::new, |ids| in_lists(ids));
                text.line(&format!("{lists}{} {};", field.kind.shown(), field.ident));
            }
            text.line("}");
        }
        if !self.kept_standard.is_empty() {
            text.line(&format!("struct {}_m {{", self.kept_ident));
            for (name, (kind, ids)) in &self.kept_standard {
                text.line(&format!("{}{} {name};", in_lists(ids), kind.shown()));
            }
            text.line("}");
        }
        text.line("struct hdr_t {");
        text.lines(&self.headers);
        text.line("}");
        text.line("struct meta_t {");
        all.iter().for_each(|(_, i)| text.line(&format!("{} {};", struct_of(&i.place), &i.place[5..])));
        if !self.kept_standard.is_empty() {
            text.line(&format!("{0}_m {0};", self.kept_ident));
        }
        text.line("}");
    }
}

/// The annotation of a field that lists keep.
fn in_lists(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!("@field_list({}) ", ids.join(", "))
}

/// The struct of metadata that is written like that.
fn struct_of(place: &str) -> String {
    format!("{}_m", place.replace('.', "_"))
}

impl Kind {
    fn shown(self) -> String {
        match self {
            Self::Bits(w) => format!("bit<{w}>"),
            Self::Signed(w) => format!("int<{w}>"),
            Self::Varying(w) => format!("varbit<{w}>"),
            Self::Error => "error".to_owned(),
            Self::Valid => "bool".to_owned(),
        }
    }
}

fn known(node: &Node<'_>, all: &HashMap<String, usize>, what: &str) -> Read<usize> {
    let name = node.text()?;
    all.get(name).copied().map_or_else(|| node.wrong(format!("no {what} is called `{name}`")), Ok)
}

fn header_type(node: &Node<'_>, name: &str, names: &mut Names) -> Read<HeaderType> {
    let mut own = Names::default();
    let (mut fields, mut fixed, mut varying) = (Vec::new(), 0u32, None);
    for field in node.need("fields")?.list()? {
        let parts = field.list()?;
        let [label, width, ..] = parts.as_slice() else { return field.wrong("expected a name and a width") };
        let signed = parts.get(2).and_then(Node::boolean).unwrap_or(false);
        let kind = if width.is_text() {
            varying = Some(fields.len());
            Kind::Varying(0)
        } else {
            match width.small(MAX_BITS)? {
                0 => return width.wrong("a field has at least one bit"),
                w if signed => Kind::Signed(w),
                w => Kind::Bits(w),
            }
        };
        fixed = fixed.saturating_add(if let Kind::Bits(w) | Kind::Signed(w) = kind { w } else { 0 });
        let label = label.text()?;
        fields.push(Field { name: label.to_owned(), ident: own.fresh(label), kind });
    }
    if let Some(n) = varying {
        let most = node.need("max_length")?;
        let bits = most.small(1 << 20)?.saturating_mul(8).saturating_sub(fixed);
        if bits > MAX_BITS {
            return most
                .wrong(format!("a field of varying length of more than {MAX_BITS} bits is not supported, and this one has up to {bits}"));
        }
        fields[n].kind = Kind::Varying(bits.max(8));
    }
    Ok(HeaderType { ident: names.fresh(name), fields })
}
