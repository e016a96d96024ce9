//! What a file says of its class: ELEMENT, PARAM, CONFIG, INFO, TABLE_*, READ, WRITE, REQUIRE;
//! SCOPE is in `scope`, STRINGS and REGEX in `pattern`.

use super::{Checker, Symbol};
use crate::c::ast::{self, Arg, ExprKind, Name};
use crate::c::fold::{Nothing, fold};
use crate::c::tree::{ControlBinding, ControlDecl, Expr, Static, TableDecl};
use crate::c::types::{Type, U32, U64, U128};
use crate::c::{Config, FlowState, Mode, Param, Preset, TableScope, Value, similar};
use crate::diagnostics::{Diagnostic, Span};
use netil::app::Toward;
use netil::module::TableKind;
use std::sync::Arc;

const MODES: [&str; 6] = ["REQUIRED", "OPTIONAL", "KEYWORD", "KEYWORD_REQUIRED", "SAME_AS", "GIVEN"];
/// Bits of a key and bytes of a value at most.
const MAX_KEY: u32 = 2048;
const MAX_VALUE: u32 = 4096;
/// Scalars of a list's element.
const MAX_LIST_PARTS: usize = 64;

impl Checker<'_> {
    pub(super) fn class_word(&mut self, word: &Name, args: &[Arg], span: Span) {
        let done = match &*word.text {
            "ELEMENT" => self.element_word(args, span),
            "ELEMENT_FLOW" => self.flow(args),
            "FLOW_STATE" => self.flow_state(args),
            "PARAM" => self.param(None, args, false),
            "PARAM_AS" => args.split_first().and_then(|(syntax, rest)| self.param(Some(name_of(syntax)?), rest, false)),
            "PARAM_LIST" => self.param(None, args, true),
            "PARAM_LIST_AS" => args.split_first().and_then(|(syntax, rest)| self.param(Some(name_of(syntax)?), rest, true)),
            "CONFIG" => self.config(args),
            "CONFIG_LIST" => self.config_list(args, span),
            "INFO" => self.info_word(args),
            "READ" | "WRITE" | "READ_CALL" | "READ_WITH" | "WRITE_CALL" => self.control(word, args, span),
            "SCOPE" => self.scope_word(args),
            "EXPIRED" => self.expired_word(args),
            "REQUIRE" => self.requirement(args),
            "STRINGS_OF" => self.strings_of(args),
            "STRINGS" | "REGEX" => self.pattern_word(args, &*word.text == "REGEX"),
            table => self.table_word(table, args, span),
        };
        if done.is_none() {
            args.iter().filter_map(name_of).for_each(|name| self.faults.leave_unread(&name.text));
        }
        if done.is_none() && !self.faults.told(span) {
            let form = form(&word.text);
            self.fault_help(span, format!("`{}` has another form", word.text), format!("write {form};"));
        }
    }

    fn element_word(&mut self, args: &[Arg], span: Span) -> Option<()> {
        let [class, ports, processing] = args else { return None };
        let (class, ports, processing) = (name_of(class)?, text_of(ports)?, text_of(processing)?);
        if let Some(before) = self.element.replace(span) {
            let fault = Diagnostic::new(span, "a file declares one element class").note(before, "declared here already");
            self.faults.add(fault);
        }
        if !is_ports(&ports) {
            self.fault_help(
                args[1].span(),
                format!("`{ports}` does not say how many ports there are"),
                "write \"1/1\", \"1/2\", \"1/-\", \"1-2/=\" or the like",
            );
        }
        if !is_processing(&processing) {
            self.fault_help(
                args[2].span(),
                format!("`{processing}` does not say what ports do"),
                "h pushes, l pulls, a does either: \"a/ah\"",
            );
        }
        let known = &mut self.program.class;
        (known.name, known.span, known.ports, known.processing) = (class.text.to_string(), class.span, ports, processing);
        Some(())
    }

    fn flow(&mut self, args: &[Arg]) -> Option<()> {
        let [code] = args else { return None };
        self.program.class.flow = text_of(code)?;
        Some(())
    }

    fn flow_state(&mut self, args: &[Arg]) -> Option<()> {
        let (flow, rest) = args.split_first()?;
        self.program.class.flow_state = Some(match (&*name_of(flow)?.text, rest) {
            ("ADDRESSES", []) => FlowState::Addresses,
            ("PORTS", [part, inputs @ ..]) if !inputs.is_empty() => {
                let toward = |end: &Arg| match &*name_of(end)?.text {
                    "SOURCE" => Some(Toward::Source),
                    "DESTINATION" => Some(Toward::Destination),
                    _ => None,
                };
                let inputs = inputs.iter().map(toward).collect::<Option<_>>()?;
                self.own_ports(name_of(part)?)?;
                FlowState::Ports(inputs)
            }
            _ => return None,
        });
        Some(())
    }

    /// The variable that says which ports are an instance's own: two numbers of 32 bits.
    fn own_ports(&mut self, name: &Name) -> Option<()> {
        let Some(Symbol::Static(id)) = self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) else {
            self.unknown(name, "variable");
            return None;
        };
        let variable = &self.program.statics[id];
        if variable.ty.size() != 8 || variable.constant || variable.is_shared() || !variable.init.is_empty() {
            let help = "declare it as `static struct share`, of share.h, without a scope and a value";
            self.fault_help(name.span, format!("`{}` does not say which ports are an instance's own", name.text), help);
            return None;
        }
        self.program.part = Some(id);
        Some(())
    }

    fn param(&mut self, syntax: Option<&Name>, args: &[Arg], list: bool) -> Option<()> {
        let [Arg::Type(written), name, keyword, mode] = args else { return None };
        let (name, keyword) = (name_of(name)?, text_of(keyword)?);
        let ctype = self.type_name(written);
        if matches!(ctype, Type::Pointer(_) | Type::Array(..) | Type::Void) {
            self.fault(written.base.span, format!("a parameter cannot be {}", super::convert::with_article(&ctype)));
        }
        if ctype == U128 {
            self.fault_help(written.base.span, "no argument is a u128", "write in6_t for an address, and ntoh128(...) to compute with it");
        }
        let mode = self.mode(mode, &ctype)?;
        if mode == Mode::Given && ctype != Type::Bool && !ctype.is_error() {
            self.fault_help(written.base.span, "a GIVEN parameter says whether an argument is there", "write PARAM(bool, ...)");
        }
        if list && ctype == Type::Text {
            self.texts(name);
        } else if list {
            self.list(name, &ctype);
        } else {
            self.declare(name, Symbol::Param(self.program.class.params.len()));
        }
        let syntax = syntax.map_or_else(String::new, |syntax| syntax.text.to_string());
        self.program.class.params.push(Param { name: name.text.to_string(), keyword, ctype, syntax, mode, list, span: name.span });
        Some(())
    }

    /// A parameter that is a list of texts: the number of them is a constant; they themselves are
    /// for STRINGS_OF.
    fn texts(&mut self, name: &Name) {
        let count = match self.instance.map(|instance| instance.values.get(&*name.text)) {
            Some(Some(Value::Texts(texts))) => texts.len(),
            Some(_) => 0,
            None => 1,
        };
        self.declare(name, Symbol::Param(self.program.class.params.len()));
        let counter = Name { text: format!("{}_count", name.text).into(), span: name.span };
        self.declare(&counter, Symbol::Constant(count as u128));
    }

    /// A parameter that is a list: a constant array and the number of its elements. One without
    /// elements has a zero that nobody reads.
    fn list(&mut self, name: &Name, ctype: &Type) {
        let bytes = match self.instance.map(|instance| instance.values.get(&*name.text)) {
            Some(Some(Value::Bytes(bytes))) => bytes.clone(),
            Some(_) => Vec::new(),
            None => vec![0; ctype.size() as usize],
        };
        let size = ctype.size().max(1);
        let count = bytes.len() as u32 / size;
        let mut init = Vec::new();
        for (offset, ty) in ctype.leaves(MAX_LIST_PARTS).unwrap_or_default() {
            let each = (0..count).map(|n| n * size + offset);
            init.extend(each.filter_map(|at| Some((at, ty.clone(), crate::c::scalar(&bytes, at, &ty)?))));
        }
        init.sort_by_key(|(offset, ..)| *offset);
        let ty = if ctype.is_error() { Type::Error } else { Type::Array(Arc::new(ctype.clone()), count.max(1)) };
        self.declare(name, Symbol::Static(self.program.statics.len()));
        let scope = TableScope::Local;
        self.program.statics.push(Static { name: Arc::clone(&name.text), ty, constant: true, span: name.span, init, scope });
        let counter = Name { text: format!("{}_count", name.text).into(), span: name.span };
        self.declare(&counter, Symbol::Constant(count.into()));
    }

    fn mode(&mut self, mode: &Arg, ctype: &Type) -> Option<Mode> {
        let Arg::Expr(mode) = mode else { return None };
        let (name, args) = match &mode.kind {
            ExprKind::Name(name) => (name, &[][..]),
            ExprKind::Call(callee, args) => match &callee.kind {
                ExprKind::Name(name) => (name, &args[..]),
                _ => return None,
            },
            _ => return None,
        };
        Some(match (&*name.text, args) {
            ("REQUIRED", []) => Mode::Required,
            ("KEYWORD_REQUIRED", []) => Mode::KeywordRequired,
            ("GIVEN", []) => Mode::Given,
            ("SAME_AS", [keyword]) => Mode::SameAs(text_of(keyword)?),
            ("OPTIONAL", []) => Mode::Optional(None),
            ("OPTIONAL", [default]) => Mode::Optional(self.default(default, ctype)),
            ("KEYWORD", [default]) => Mode::Keyword(self.default(default, ctype)),
            ("KEYWORD", []) => Mode::Keyword(None),
            (other, _) => {
                let fault = Diagnostic::new(mode.span, format!("`{other}` is no mode of a parameter"));
                let fault =
                    fault.help("write REQUIRED, OPTIONAL(default), KEYWORD(default), KEYWORD_REQUIRED, SAME_AS(\"KEYWORD\") or GIVEN");
                let fault = similar(fault, other, MODES.into_iter().filter(|mode| *mode != other), "");
                self.faults.add(fault);
                return Some(Mode::Required);
            }
        })
    }

    fn default(&mut self, default: &Arg, ctype: &Type) -> Option<Preset> {
        let Arg::Expr(default) = default else { return None };
        if let ExprKind::Text(bytes) = &default.kind {
            return Some(Preset::Text(String::from_utf8_lossy(bytes).into_owned()));
        }
        let value = self.expr(default);
        if value.ty.is_error() || ctype.is_error() {
            return None;
        }
        if !(value.ty.is_int() || matches!(value.ty, Type::Be(_))) {
            self.fault(default.span, "a default is a constant or a string");
            return None;
        }
        let to = if ctype.is_scalar() { ctype.clone() } else { value.ty.clone() };
        let value = if matches!(to, Type::Mac | Type::In6) { value } else { self.convert(value, &to, "this default") };
        match fold(&value, &Nothing) {
            Some(number) => Some(Preset::Const(Value::Int(number as u64))),
            None => {
                self.fault(default.span, "a default is a constant or a string");
                None
            }
        }
    }

    fn config(&mut self, args: &[Arg]) -> Option<()> {
        let [syntax, name] = args else { return None };
        let (syntax, name) = (name_of(syntax)?, name_of(name)?);
        self.set_config(Config { syntax: syntax.text.to_string(), name: name.text.to_string(), ctype: None, span: name.span })
    }

    fn config_list(&mut self, args: &[Arg], span: Span) -> Option<()> {
        let [Arg::Type(ctype), name] = args else { return None };
        let name = name_of(name)?;
        let ctype = self.type_name(ctype);
        if !ctype.is_scalar() && !ctype.is_error() {
            self.fault(span, format!("a list of arguments cannot have elements of type {ctype}"));
        }
        self.set_config(Config { syntax: "LIST".to_owned(), name: name.text.to_string(), ctype: Some(ctype), span: name.span })
    }

    fn set_config(&mut self, config: Config) -> Option<()> {
        let span = config.span;
        if let Some(before) = self.program.class.config.replace(config) {
            let fault = Diagnostic::new(span, "a class has one CONFIG").note(before.span, "it is here already");
            self.faults.add(fault);
        }
        Some(())
    }

    fn info_word(&mut self, args: &[Arg]) -> Option<()> {
        let [Arg::Type(ctype), name] = args else { return None };
        let name = name_of(name)?;
        let ctype = self.type_name(ctype);
        let span = args[0].span();
        if !ctype.is_scalar() && !ctype.is_error() {
            self.fault(span, format!("an info field holds a number or an address, not {}", super::convert::with_article(&ctype)));
        }
        if let Some((id, before)) = self.infos.get(&name.text).copied() {
            let known = &self.program.infos[id].1;
            if *known != ctype {
                let fault = Diagnostic::new(span, format!("the info field `{}` has type {known} already", name.text));
                self.faults.add(fault.note(before, "declared here"));
            }
            return Some(());
        }
        self.infos.insert(Arc::clone(&name.text), (self.program.infos.len(), name.span));
        self.program.class.info.push((name.text.to_string(), ctype.size()));
        self.program.infos.push((Arc::clone(&name.text), ctype));
        Some(())
    }

    fn table_word(&mut self, word: &str, args: &[Arg], span: Span) -> Option<()> {
        let (kind, [name, Arg::Type(key), Arg::Type(value), Arg::Expr(capacity), rest @ ..]) = (kind_of(word)?, args) else { return None };
        let name = name_of(name)?;
        let (key_ty, value_ty) = (self.type_name(key), self.type_name(value));
        self.key_type(kind, &key_ty, key.base.span);
        if value_ty.size() > MAX_VALUE || value_ty.size() == 0 && !value_ty.is_error() || matches!(value_ty, Type::Pointer(_)) {
            self.fault(value.base.span, format!("a value has 1 to {MAX_VALUE} bytes, and no pointer"));
        }
        let capacity = self.instance_constant(capacity, &U32);
        let timeout = match (rest, kind) {
            ([Arg::Expr(timeout)], TableKind::Exact) => Some(self.instance_constant(timeout, &U64)),
            ([], TableKind::Prefix | TableKind::Ternary | TableKind::Range) => None,
            _ => return None,
        };
        let id = self.program.tables.len();
        self.declare(name, Symbol::Table(id));
        let scope = TableScope::Local;
        let table =
            TableDecl { name: Arc::clone(&name.text), kind, key: key_ty, value: value_ty, capacity, timeout, scope, expired: None, span };
        self.program.class.tables.push(crate::c::Table {
            name: name.text.to_string(),
            kind,
            key: table.key.clone(),
            value: table.value.clone(),
        });
        self.program.tables.push(table);
        Some(())
    }

    fn key_type(&mut self, kind: TableKind, key: &Type, span: Span) {
        if key.is_error() {
            return;
        }
        if matches!(key, Type::Pointer(_) | Type::Void | Type::Text) || key.size() * 8 > MAX_KEY {
            return self.fault(span, format!("a key has 1 to {} bytes, and no pointer", MAX_KEY / 8));
        }
        if kind == TableKind::Range && !(key.is_int() || matches!(key, Type::Be(_))) {
            self.fault(span, format!("the key of a range is a number, not {}", super::convert::with_article(key)));
        } else if kind == TableKind::Range && key.is_signed() {
            self.fault_help(
                span,
                format!("ranges are of numbers without sign, and {key} has one"),
                "add the same to all keys, so that the least is 0",
            );
        }
    }

    /// `REQUIRE(condition, "what is wrong otherwise")`
    fn requirement(&mut self, args: &[Arg]) -> Option<()> {
        let [Arg::Expr(condition), wrong] = args else { return None };
        let (condition, wrong) = (self.condition(condition), text_of(wrong)?);
        self.program.requirements.push((condition, wrong));
        Some(())
    }

    /// A number that an instance knows: constants and parameters.
    fn instance_constant(&mut self, e: &ast::Expr, ty: &Type) -> Expr {
        let value = self.expr(e);
        self.convert(value, ty, "this")
    }

    /// Whether handlers do not show values of that type, which is then told.
    fn cannot_be_shown(&mut self, ctype: &Type, span: Span) -> bool {
        if !ctype.is_scalar() && !ctype.is_error() {
            self.fault(span, format!("a handler shows a number or an address, not {}", super::convert::with_article(ctype)));
            return true;
        }
        if *ctype == U128 {
            self.fault_help(span, "a handler shows no u128", "show it as an address with hton128(...), or in two of u64");
        }
        *ctype == U128
    }

    fn control(&mut self, word: &Name, args: &[Arg], span: Span) -> Option<()> {
        let (name, ty, asked, source) = match (&*word.text, args) {
            ("READ_WITH", [name, ty, Arg::Type(asked), source]) => (name, ty, Some(asked), source),
            ("READ_WITH", _) => return None,
            (_, [name, ty, source]) => (name, ty, None, source),
            _ => return None,
        };
        let (name, source) = (name_of(name)?, name_of(source)?);
        let call = word.text.ends_with("_CALL") || asked.is_some();
        let write = word.text.starts_with("WRITE");
        let ctype = match ty {
            Arg::Type(written) => Some(self.type_name(written)),
            Arg::Expr(ast::Expr { kind: ExprKind::Name(name), .. }) if matches!((&*name.text, write), ("text", false) | ("none", true)) => {
                None
            }
            Arg::Expr(other) => {
                let what = if write { "`none`" } else { "`text`" };
                self.fault(other.span, format!("a handler has a type, or {what}"));
                return Some(());
            }
        };
        if ctype.as_ref().is_some_and(|ctype| self.cannot_be_shown(ctype, ty.span())) {
            return Some(());
        }
        let asked = asked.map(|written| (self.type_name(written), written.base.span));
        if asked.as_ref().is_some_and(|(asked, span)| self.cannot_be_shown(asked, *span)) {
            return Some(());
        }
        let asked = asked.map(|(asked, _)| asked);
        let found = if call {
            self.control_call(source, ctype.as_ref(), asked.as_ref(), write)
        } else {
            self.control_variable(source, ctype.as_ref())
        };
        if let Some(found) = found {
            let decl = ControlDecl { name: Arc::clone(&name.text), write, ty: ctype, asked, source: found };
            self.add_control(decl, span);
        }
        Some(())
    }

    fn add_control(&mut self, control: ControlDecl, span: Span) {
        // The text behind a read handler's name is written before it is read.
        let takes = |known: &ControlDecl, write: bool| if write { known.write || known.asked.is_some() } else { !known.write };
        let twice =
            |write| takes(&control, write) && self.program.controls.iter().any(|known| known.name == control.name && takes(known, write));
        if let Some(write) = [false, true].into_iter().find(|write| twice(*write)) {
            let what = if write { "write" } else { "read" };
            self.fault(span, format!("there are two {what} handlers `{}`", control.name));
        }
        self.program.class.handlers.push(crate::c::Handler {
            name: control.name.to_string(),
            write: control.write,
            ctype: control.ty.clone(),
        });
        self.program.controls.push(control);
    }

    fn control_variable(&mut self, name: &Name, ctype: Option<&Type>) -> Option<ControlBinding> {
        let Some(Symbol::Static(id)) = self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) else {
            match self.lookup(&name.text) {
                Some((Symbol::Function(_), _)) => {
                    self.fault_help(name.span, format!("`{}` is a function", name.text), "write READ_CALL or WRITE_CALL")
                }
                Some(_) => self.fault_help(name.span, format!("`{}` is not a static variable", name.text), "copy it into one in init()"),
                None => self.unknown(name, "variable"),
            }
            return None;
        };
        let variable = &self.program.statics[id];
        match ctype {
            Some(ctype) if *ctype == variable.ty => return Some(ControlBinding::Static(id)),
            _ if variable.ty.is_error() => {}
            _ => {
                let fault =
                    Diagnostic::new(name.span, format!("`{}` has type {}", name.text, variable.ty)).note(variable.span, "declared here");
                self.faults.add(fault.help(if variable.ty.is_scalar() {
                    format!("write {} as the handler's type", variable.ty)
                } else {
                    "show a part of it with READ_CALL and a function".to_owned()
                }));
            }
        }
        None
    }

    fn control_call(&mut self, name: &Name, ctype: Option<&Type>, asked: Option<&Type>, write: bool) -> Option<ControlBinding> {
        let Some(Symbol::Function(id)) = self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) else {
            match self.lookup(&name.text) {
                Some(_) => self.fault(name.span, format!("`{}` is not a function", name.text)),
                None => self.unknown(name, "function"),
            }
            return None;
        };
        let function = &self.program.functions[id];
        let params: Vec<&Type> = function.locals[..function.params].iter().map(|local| &local.ty).collect();
        let fits = match (write, ctype) {
            (false, ctype) => function.result == *ctype.unwrap_or(&Type::Void) && params == asked.into_iter().collect::<Vec<_>>(),
            (true, None) => params.is_empty(),
            (true, Some(ctype)) => params == [ctype],
        };
        if fits {
            return Some(ControlBinding::Call(id));
        }
        let shape = match (write, ctype) {
            (false, ctype) => {
                let asked = asked.map_or_else(|| "void".to_owned(), |asked| format!("{asked} asked"));
                format!("{} {}({asked})", ctype.unwrap_or(&Type::Void), name.text)
            }
            (true, None) => format!("void {}(void)", name.text),
            (true, Some(ctype)) => format!("void {}({ctype} value)", name.text),
        };
        let fault = Diagnostic::new(name.span, format!("`{}` has other types", name.text)).note(function.span, "declared here");
        let with = if !write && asked.is_none() && params.len() == 1 { ", or READ_WITH for a function with an argument" } else { "" };
        self.faults.add(fault.help(format!("write `static {shape}`{with}")));
        None
    }
}

/// The kind of tables that a word declares: `TABLE_` and its name in capitals.
fn kind_of(word: &str) -> Option<TableKind> {
    let name = word.strip_prefix("TABLE_")?;
    TableKind::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(kind, _)| *kind)
}

pub(super) fn name_of(arg: &Arg) -> Option<&Name> {
    match arg {
        Arg::Expr(ast::Expr { kind: ExprKind::Name(name), .. }) => Some(name),
        _ => None,
    }
}

fn text_of(arg: &Arg) -> Option<String> {
    match arg {
        Arg::Expr(ast::Expr { kind: ExprKind::Text(bytes), .. }) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

/// `inputs/outputs`, each a number, a range, `-`, or `=` with any number of `+` on the right.
fn is_ports(code: &str) -> bool {
    let Some((inputs, outputs)) = code.split_once('/') else { return false };
    let number = |text: &str| text.is_empty() || text.len() < 5 && text.bytes().all(|b| b.is_ascii_digit());
    let count =
        |text: &str| !text.is_empty() && text.split_once('-').map_or_else(|| number(text), |(least, most)| number(least) && number(most));
    count(inputs) && (count(outputs) || outputs.strip_prefix('=').is_some_and(|more| more.bytes().all(|b| b == b'+')))
}

fn is_processing(code: &str) -> bool {
    let letters = |text: &str| !text.is_empty() && text.bytes().all(|b| b"hla".contains(&b));
    match code.split_once('/') {
        Some((inputs, outputs)) => letters(inputs) && letters(outputs),
        None => letters(code),
    }
}

/// How a declaration is written.
fn form(word: &str) -> &'static str {
    match word {
        "ELEMENT" => "ELEMENT(Name, \"inputs/outputs\", \"processing\")",
        "ELEMENT_FLOW" => "ELEMENT_FLOW(\"x/y\")",
        "FLOW_STATE" => "FLOW_STATE(ADDRESSES), or FLOW_STATE(PORTS, variable, SOURCE, DESTINATION) with an end for each input",
        "PARAM" => "PARAM(type, name, \"KEYWORD\", REQUIRED)",
        "PARAM_AS" => "PARAM_AS(SYNTAX, type, name, \"KEYWORD\", REQUIRED)",
        "PARAM_LIST" => "PARAM_LIST(type, name, \"KEYWORD\", REQUIRED)",
        "PARAM_LIST_AS" => "PARAM_LIST_AS(SYNTAX, type, name, \"KEYWORD\", REQUIRED)",
        "CONFIG" => "CONFIG(SYNTAX, name)",
        "CONFIG_LIST" => "CONFIG_LIST(type, name)",
        "INFO" => "INFO(type, name)",
        "STRINGS" => "STRINGS(name, \"text\", string parameter)",
        "STRINGS_OF" => "STRINGS_OF(name, PARAM_LIST of strings)",
        "REGEX" => "REGEX(name, \"expression\")",
        "REQUIRE" => "REQUIRE(condition, \"what is wrong otherwise\")",
        "EXPIRED" => "EXPIRED(table, function)",
        "SCOPE" => "SCOPE(name, GLOBAL), or UNIVERSAL, LOCAL, REGIONAL, REGIONAL(element, its name)",
        "READ" => "READ(name, type, variable)",
        "WRITE" => "WRITE(name, type, variable)",
        "READ_CALL" => "READ_CALL(name, type, function)",
        "READ_WITH" => "READ_WITH(name, type, type of the text, function)",
        "WRITE_CALL" => "WRITE_CALL(name, type, function)",
        _ => match kind_of(word) {
            Some(TableKind::Exact) => "TABLE_EXACT(name, key type, value type, capacity, timeout)",
            Some(TableKind::Prefix) => "TABLE_PREFIX(name, key type, value type, capacity)",
            Some(TableKind::Range) => "TABLE_RANGE(name, key type, value type, capacity)",
            Some(TableKind::Ternary) | None => "TABLE_TERNARY(name, key type, value type, capacity)",
        },
    }
}
