//! What is constant in an instance: parameters, numbers of ports, constant variables.

use crate::c::fold::Known;
use crate::c::tree::{Program, normal};
use crate::c::types::Type;
use crate::c::{Faults, Instance, Mode, Param, Preset, Value, scalar};
use crate::click::processing::Kind;
use crate::diagnostics::Diagnostic;

pub(super) struct Facts<'a> {
    program: &'a Program,
    values: Vec<Value>,
    ports: [Vec<Kind>; 2],
}

impl<'a> Facts<'a> {
    /// The facts of an instance; tells which parameters have no value.
    pub(super) fn new(program: &'a Program, instance: &Instance, faults: &mut Faults) -> Self {
        let values = program.class.params.iter().map(|param| value_of(param, instance, faults)).collect();
        Self { program, values, ports: [instance.inputs.clone(), instance.outputs.clone()] }
    }

    /// The texts of a parameter that is a list of them.
    pub(super) fn texts(&self, param: usize) -> &[String] {
        match self.values.get(param) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }
}

fn value_of(param: &Param, instance: &Instance, faults: &mut Faults) -> Value {
    let zero = Value::Int(0);
    let given = instance.values.get(&param.name).cloned();
    let value = given.or_else(|| match &param.mode {
        Mode::Optional(Some(preset)) | Mode::Keyword(Some(preset)) => match preset {
            Preset::Const(value) => Some(value.clone()),
            Preset::Text(text) if param.list && param.ctype == Type::Text => {
                Some(Value::Texts(text.split_ascii_whitespace().map(str::to_owned).collect()))
            }
            Preset::Text(text) => (param.ctype == Type::Text).then(|| Value::Text(text.clone())),
        },
        Mode::Given | Mode::Optional(None) | Mode::Keyword(None) => Some(zero.clone()),
        Mode::Required | Mode::KeywordRequired | Mode::SameAs(_) => None,
    });
    let fault = |what: &str| Diagnostic::new(param.span, format!("the parameter `{}` of `{}` {what}", param.name, instance.name));
    let Some(value) = value else {
        faults.add(fault("has no value").help(format!("give an argument {}", param.keyword)));
        return zero;
    };
    let fits = match &value {
        Value::Int(_) => {
            matches!(param.ctype, Type::Bool | Type::Int { .. } | Type::Be(_) | Type::Mac | Type::In6 | Type::Error) || value == zero
        }
        Value::Bytes(bytes) if param.list => bytes.len().is_multiple_of(param.ctype.size().max(1) as usize),
        Value::Bytes(bytes) => bytes.len() == param.ctype.size() as usize,
        Value::Text(_) => param.ctype == Type::Text && !param.list,
        Value::Texts(_) => param.ctype == Type::Text && param.list,
    };
    if !fits {
        faults.add(fault(&format!("has a value that is no {}", param.ctype)));
    }
    value
}

impl Known for Facts<'_> {
    fn ports(&self, outputs: bool) -> Option<u128> {
        Some(self.ports[usize::from(outputs)].len() as u128)
    }

    fn is_push(&self, outputs: bool, port: u128) -> Option<bool> {
        let kind = self.ports[usize::from(outputs)].get(usize::try_from(port).ok()?);
        Some(kind == Some(&Kind::Push))
    }

    fn text(&self, param: usize) -> Option<&str> {
        match self.values.get(param)? {
            Value::Text(text) => Some(text),
            _ => Some(""),
        }
    }

    fn param(&self, param: usize, offset: u32, ty: &Type) -> Option<u128> {
        match self.values.get(param)? {
            Value::Int(value) => Some(normal(ty, extended(*value, ty))),
            Value::Bytes(bytes) => scalar(bytes, offset, ty),
            Value::Text(_) | Value::Texts(_) => None,
        }
    }

    fn constant(&self, variable: usize, offset: u32, ty: &Type) -> Option<u128> {
        let variable = self.program.statics.get(variable).filter(|variable| variable.constant)?;
        let found = variable.init.binary_search_by_key(&offset, |(at, ..)| *at).ok();
        let value = found.map(|n| &variable.init[n]);
        match value {
            Some((_, known, value)) => (known == ty).then_some(*value),
            None => Some(0),
        }
    }
}

/// A default of −1 for an address is all ones.
fn extended(value: u64, ty: &Type) -> u128 {
    if ty.width() > 64 && value == u64::MAX { u128::MAX } else { value.into() }
}
