//! The benchmark of a component, for its author.

use crate::cases::Case;
use crate::error::ToolError;
use gage_core::{FieldError, Object};
use gage_plugin::{
    AnyComponent, ComponentCosts, ConfiguredMember, GuestCode, InputDescription, InstanceSetup, ItemBench,
    ItemCosts, LoadError, MetricItem, PluginComponent, PluginHost, PluginKind, ResolvedInputs, World,
    component_costs,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Options of a benchmark.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Cases that provide inputs; without any, inputs are generated.
    pub cases: Vec<Case>,
    /// Member to measure, if the component has several.
    pub member: Option<String>,
    /// Number of items in a batch.
    pub batch: usize,
    /// Size of each generated input, in bytes.
    pub bytes: usize,
    /// Duration of each measurement.
    pub time: Duration,
    /// True to measure the cost of counting fuel and time. The component then runs without limits, so it must
    /// be trusted.
    pub uncounted: bool,
}

/// Costs of a component.
#[derive(Clone, Debug)]
pub struct BenchReport {
    /// Costs before any work.
    pub component: ComponentCosts,
    /// Costs of scoring or extracting, for metrics and extractors.
    pub items: Option<ItemsReport>,
}

/// Costs of items.
#[derive(Clone, Debug)]
pub struct ItemsReport {
    /// The member.
    pub member: String,
    /// Number of items in a batch.
    pub batch: usize,
    /// One item in its own instance.
    pub singly: ItemCosts,
    /// Items in a batch.
    pub batched: ItemCosts,
    /// The batch without counting fuel and time, if requested; the difference is the cost of counting.
    pub uncounted: Option<ItemCosts>,
}

/// Measures a component. `host` should have a cache folder, so that the cache is measured too.
///
/// # Errors
/// If the component, the member or the cases cannot be used.
pub fn bench(
    host: &PluginHost,
    name: &str,
    bytes: &[u8],
    setup: &InstanceSetup,
    options: &BenchOptions,
) -> Result<BenchReport, ToolError> {
    let component = component_costs(host, name, bytes, setup, options.time).map_err(load_error)?;
    let family = AnyComponent::load(host, name, bytes, setup).map_err(load_error)?;
    if !matches!(family.world(), World::Metric | World::Extractor) {
        return Ok(BenchReport { component, items: None });
    }
    let uncounted = || -> Result<ItemCosts, ToolError> {
        let host = PluginHost::for_benchmark(GuestCode::WithoutFuel);
        let family =
            AnyComponent::load(&host.map_err(ToolError::new)?, name, bytes, setup).map_err(load_error)?;
        Ok(Bench::new(&family, options)?.costs(options.batch, options))
    };
    let counted = Bench::new(&family, options)?;
    let items = ItemsReport {
        member: counted.name.clone(),
        batch: options.batch,
        singly: counted.costs(1, options),
        batched: counted.costs(options.batch, options),
        uncounted: options.uncounted.then(uncounted).transpose()?,
    };
    Ok(BenchReport { component, items: Some(items) })
}

fn load_error(error: LoadError) -> ToolError {
    ToolError { message: error.to_string(), help: error.help }
}

/// A member with the source of its items.
struct Bench {
    name: String,
    member: Box<dyn ItemBench>,
    item: Box<dyn Fn(&Object) -> MetricItem>,
    inputs: Vec<Object>,
}

impl Bench {
    fn new(family: &AnyComponent, options: &BenchOptions) -> Result<Bench, ToolError> {
        let first = options.cases.first();
        let named = options.member.as_deref().or(first.and_then(|case| case.member.as_deref()));
        let of_member = |case: &&Case| case.member.is_none() || case.member.as_deref() == named;
        let cases: Vec<&Case> = options.cases.iter().filter(of_member).collect();
        let params = cases.first().map_or(Value::Null, |case| case.params.clone());
        let inputs: Vec<Object> = cases
            .iter()
            .filter(|case| case.params == params && case.body.contains_key("inputs"))
            .map(|case| case.object("inputs"))
            .collect();
        if !options.cases.is_empty() && inputs.is_empty() {
            return Err(ToolError::with_help(
                "no case of this member has `inputs`",
                "write cases with `inputs`, or leave --cases out to measure with generated texts",
            ));
        }
        let problems = |problems: Vec<FieldError>| {
            let text = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            ToolError::with_help(
                format!("the parameters cannot be used: {text}"),
                "give --cases, whose first case has the parameters, and --member",
            )
        };
        match family {
            AnyComponent::Metric(component) => Bench::of(component, named, &params, inputs, options.bytes),
            AnyComponent::Extractor(component) => Bench::of(component, named, &params, inputs, options.bytes),
            _ => return Err(ToolError::new("items are measured only for metrics and extractors")),
        }
        .map_err(problems)
    }

    /// Measures a member with `inputs`, or with generated texts of `bytes` bytes.
    fn of<K: PluginKind + ResolvedInputs>(
        component: &Arc<PluginComponent<K>>,
        named: Option<&str>,
        params: &Value,
        inputs: Vec<Object>,
        bytes: usize,
    ) -> Result<Bench, Vec<FieldError>>
    where
        ConfiguredMember<K>: ItemBench,
    {
        let member = component.configure(named, params.clone())?;
        let other = component.configure(named, params.clone())?;
        let description = member.description();
        let inputs = if inputs.is_empty() { made_up(&description.inputs, bytes) } else { inputs };
        Ok(Bench {
            name: description.name.clone(),
            member: Box::new(member),
            item: Box::new(move |values| other.item("item", values)),
            inputs,
        })
    }

    fn costs(&self, batch: usize, options: &BenchOptions) -> ItemCosts {
        let items = self.inputs.iter().cycle().take(batch).map(|values| (self.item)(values)).collect();
        self.member.item_costs(items, options.time)
    }
}

/// Generates texts of the given size. A few differ, so that the items are not all alike.
fn made_up(inputs: &[InputDescription], bytes: usize) -> Vec<Object> {
    const WORDS: [&str; 12] =
        ["the", "answer", "is", "forty", "two", "because", "Paris", "lies", "on", "river", "Seine", "north"];
    (0..16_usize)
        .map(|number| {
            let texts = inputs.iter().enumerate().map(|(place, input)| {
                let mut text = String::with_capacity(bytes + 8);
                let words = WORDS.iter().cycle().skip(number + place);
                for (count, word) in words.enumerate() {
                    if text.len() >= bytes {
                        break;
                    }
                    if count > 0 {
                        text.push(' ');
                    }
                    text.push_str(word);
                }
                text.truncate(bytes);
                (input.name.clone(), Value::String(text))
            });
            texts.collect()
        })
        .collect()
}
