//! Components with members, which are described, checked and configured. All kinds of plugins share this.

use crate::batch::{BatchResult, ItemError, call_in_batches};
use crate::bindings::types::{InputSpec, Item, MemberSpec, PluginError, PluginInfo};
use crate::capabilities::Access;
use crate::capabilities::models::Models;
use crate::component::{CallError, CallWork, InstanceSetup, LinkedComponent, LoadError, PluginIdentity};
use crate::host::PluginHost;
use crate::inputs::{Input, Inputs, MetricItem, ResolvedInputs, split_params};
use crate::inspect::ComponentSummary;
use crate::limits::Limits;
use crate::member_description::{InputDescription, MemberDescription, OptionalMetadata};
use crate::sandbox::GuestState;
use crate::schema::ParamsSchema;
use crate::validate_output;
use crate::world::World;
use gage_core::{Digest, EvalContext, FieldError, Object};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::InstancePre;

/// Most members of a component.
const MAX_MEMBERS: usize = 256;

/// A kind of plugins: how its bindings are called. Sealed: there is one for each world.
pub trait PluginKind: Sized + Send + Sync + 'static {
    /// The world.
    const WORLD: World;
    /// The component, with its exports found.
    type PreInstance: Send + Sync;
    /// An instance.
    type PluginInstance;
    /// What a member says of itself beyond its [`MemberDescription`].
    type Detail: Send + Sync;

    /// Finds the exports.
    fn prepare(instance: InstancePre<GuestState>) -> wasmtime::Result<Self::PreInstance>;
    /// Makes an instance.
    fn instantiate(
        pre: &Self::PreInstance,
        store: &mut Store<GuestState>,
    ) -> wasmtime::Result<Self::PluginInstance>;
    /// Asks the component what it is and what it holds.
    fn describe(
        plugin: &Self::PluginInstance,
        store: &mut Store<GuestState>,
    ) -> wasmtime::Result<(PluginInfo, Vec<DeclaredMember<Self>>)>;
    /// Has the component check parameters of a member.
    #[expect(clippy::ptr_arg, reason = "the bindings take no other reference to a text")]
    fn check(
        plugin: &Self::PluginInstance,
        store: &mut Store<GuestState>,
        member: &str,
        params: &String,
    ) -> wasmtime::Result<Result<(), PluginError>>;
}

/// What a component declares of a member.
pub struct DeclaredMember<K: PluginKind> {
    pub(crate) spec: MemberSpec,
    pub(crate) inputs: Vec<InputSpec>,
    pub(crate) optional: OptionalMetadata,
    pub(crate) detail: K::Detail,
}

pub(crate) struct Member<K: PluginKind> {
    pub(crate) inputs: Vec<InputSpec>,
    pub(crate) detail: K::Detail,
    schema: ParamsSchema,
}

/// What is the same for components of all kinds: what they say of themselves, and what runs them.
pub struct LoadedComponent {
    pub(crate) linked: LinkedComponent,
    identity: PluginIdentity,
    description: String,
    extra: Object,
    descriptions: Vec<MemberDescription>,
}

/// A component with its members.
pub struct PluginComponent<K: PluginKind> {
    loaded: LoadedComponent,
    pre: K::PreInstance,
    /// In the order of their descriptions.
    pub(crate) members: Vec<Member<K>>,
}

impl<K: PluginKind> Deref for PluginComponent<K> {
    type Target = LoadedComponent;

    fn deref(&self) -> &LoadedComponent {
        &self.loaded
    }
}

impl LoadedComponent {
    /// Returns its kind.
    pub fn world(&self) -> World {
        self.linked.summary.world
    }

    /// What a record of a run says about the component.
    pub fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    /// What it says of itself, in a sentence.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns its `extra` metadata: licence, homepage, the grants that it hopes for.
    pub fn extra(&self) -> &Object {
        &self.extra
    }

    /// What was read from its bytes.
    pub fn summary(&self) -> &ComponentSummary {
        &self.linked.summary
    }

    /// What it may use.
    pub fn limits(&self) -> &Limits {
        &self.linked.limits
    }

    /// What its members say of themselves.
    pub fn descriptions(&self) -> &[MemberDescription] {
        &self.descriptions
    }

    /// Returns how much it has done so far.
    pub fn work(&self) -> CallWork {
        self.linked.work()
    }

    /// Gives it the models of the run, so far as it was granted them.
    pub fn set_models(&self, models: Arc<dyn Models>) {
        self.linked.set_models(models);
    }
}

impl<K: PluginKind> PluginComponent<K> {
    /// Loads a component and asks it what it holds.
    ///
    /// # Errors
    /// When it is a plugin of another kind, imports what it was not granted, does not compile, or
    /// declares something invalid.
    pub fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        setup: &InstanceSetup,
    ) -> Result<PluginComponent<K>, LoadError> {
        let linked = LinkedComponent::load(host, name, bytes, K::WORLD, setup)?;
        let fail = |message: String| LoadError { name: name.to_owned(), message, help: None };
        let pre = K::prepare(linked.instance.clone()).map_err(|error| fail(format!("{error:#}")))?;
        let described = linked.call(|store| {
            let plugin = K::instantiate(&pre, store)?;
            K::describe(&plugin, store)
        });
        let (info, declared) = described.map_err(|error| fail(error.while_doing("describing itself")))?;
        let extra = validate_output::info(&info, &linked.limits).map_err(fail)?;
        let members = declared.into_iter().map(|member| read_member(member, &linked.limits));
        let members = members.collect::<Result<Vec<_>, String>>().map_err(fail)?;
        let (descriptions, members): (Vec<MemberDescription>, Vec<Member<K>>) = members.into_iter().unzip();
        check_names(K::WORLD, &descriptions).map_err(fail)?;
        let identity = linked.identity(&info);
        let loaded = LoadedComponent { linked, identity, description: info.description, extra, descriptions };
        Ok(PluginComponent { loaded, pre, members })
    }

    /// Makes one of its members ready to be called; without a name the only one.
    ///
    /// # Errors
    /// Everything that is wrong with the name and the parameters; pointers lead into `params`.
    pub fn configure(
        self: &Arc<PluginComponent<K>>,
        name: Option<&str>,
        params: Value,
    ) -> Result<ConfiguredMember<K>, Vec<FieldError>> {
        let problem = |message: String| vec![FieldError { pointer: String::new(), message }];
        let names = || self.descriptions.iter().map(|one| one.name.as_str());
        let known = || names().collect::<Vec<_>>().join(", ");
        let world = K::WORLD;
        let index = match name {
            None if self.members.len() == 1 => 0,
            None => {
                let known = known();
                return Err(problem(format!(
                    "the component holds several; name one {world} with #: {known}"
                )));
            }
            Some(name) => {
                let found = names().position(|one| one == name);
                found.ok_or_else(|| {
                    problem(format!("the component holds no {world} '{name}'; it holds {}", known()))
                })?
            }
        };
        let member = &self.members[index];
        let given = params.as_object().cloned().unwrap_or_default();
        let (inputs, own) = split_params(&member.inputs, &member.schema, params)?;
        let params = Value::Object(own).to_string();
        let checked = self.linked.call(|store| {
            let plugin = K::instantiate(&self.pre, store)?;
            K::check(&plugin, store, &self.descriptions[index].name, &params)
        });
        match checked {
            Ok(Ok(())) => Ok(ConfiguredMember { component: Arc::clone(self), index, inputs, params, given }),
            Ok(Err(error)) => {
                let error = validate_output::error(error, &self.linked.limits);
                Err(vec![FieldError { pointer: error.pointer.unwrap_or_default(), message: error.message }])
            }
            Err(error) => Err(problem(error.while_doing("checking its parameters"))),
        }
    }
}

/// Checks and keeps what a component declares of a member.
fn read_member<K: PluginKind>(
    declared: DeclaredMember<K>,
    limits: &Limits,
) -> Result<(MemberDescription, Member<K>), String> {
    let DeclaredMember { spec, inputs, optional, detail } = declared;
    validate_output::member(&spec, &inputs, &optional, limits)?;
    let named = |error: String| format!("'{}': {error}", spec.name);
    let schema = ParamsSchema::compile(&spec.params_schema).map_err(named)?;
    let description = MemberDescription {
        description: spec.description,
        version: spec.version,
        hook: optional.hook,
        inputs: inputs
            .iter()
            .map(|input| InputDescription {
                name: input.name.clone(),
                path_params: input.path_params.clone(),
                default_paths: input.default_paths.clone(),
            })
            .collect(),
        values: optional.values,
        default_aggregation: optional.default_aggregation,
        params_schema: serde_json::from_str(&spec.params_schema).unwrap_or(Value::Null),
        name: spec.name,
    };
    Ok((description, Member { inputs, detail, schema }))
}

fn check_names(world: World, members: &[MemberDescription]) -> Result<(), String> {
    if members.is_empty() {
        return Err(format!("it holds no {world}"));
    }
    if members.len() > MAX_MEMBERS {
        return Err(format!("it holds {} members; at most {MAX_MEMBERS} are allowed", members.len()));
    }
    for (place, MemberDescription { name, .. }) in members.iter().enumerate() {
        if members[..place].iter().any(|earlier| earlier.name == *name) {
            return Err(format!("it declares the {world} '{name}' twice"));
        }
    }
    Ok(())
}

/// A member with its parameters, ready to be called.
pub struct ConfiguredMember<K: PluginKind> {
    pub(crate) component: Arc<PluginComponent<K>>,
    index: usize,
    pub(crate) inputs: Inputs,
    params: String,
    /// The parameters as they were given, those that name paths among them.
    given: Object,
}

impl<K: PluginKind + ResolvedInputs> ConfiguredMember<K> {
    /// Returns its inputs, with the paths that count here.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs.list
    }

    /// Resolves the inputs of one sample.
    pub fn resolve(&self, sample_id: &str, roots: EvalContext<'_>) -> MetricItem {
        let inputs = self.inputs.resolve(self.name(), sample_id, roots);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }

    /// Takes the inputs by their names, without a sample.
    pub fn item(&self, sample_id: &str, values: &Object) -> MetricItem {
        let inputs = self.inputs.by_name(values);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }
}

impl<K: PluginKind> ConfiguredMember<K> {
    /// What it says of itself.
    pub fn description(&self) -> &MemberDescription {
        &self.component.descriptions[self.index]
    }

    /// The same member with some parameters changed.
    ///
    /// # Errors
    /// Everything that is wrong with the parameters.
    pub fn with_params(&self, changed: &Object) -> Result<ConfiguredMember<K>, Vec<FieldError>> {
        let mut params = self.given.clone();
        params.extend(changed.clone());
        self.component.configure(Some(self.name()), Value::Object(params))
    }

    /// What a record of a run says about its component.
    pub fn identity(&self) -> &PluginIdentity {
        self.component.identity()
    }

    /// Returns whether its component names it in a list among what it says of itself optional.
    pub(crate) fn is_named_in(&self, list: &str) -> bool {
        let names = self.component.extra.get(list).and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|name| name == self.name()))
    }

    /// The digest of all that its results hang on beside what it is asked: the bytes of its component, which of its
    /// members it is, and the parameters that it was given.
    pub fn digest(&self) -> Digest {
        let component = self.identity().digest;
        Digest::of_json(&json!({"component": component, "member": self.name(), "params": self.given}))
    }

    /// Returns how much its component has done so far, for all that use it.
    pub fn work(&self) -> CallWork {
        self.component.work()
    }

    pub(crate) fn member(&self) -> &Member<K> {
        &self.component.members[self.index]
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.description().name
    }

    pub(crate) fn params(&self) -> &String {
        &self.params
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.component.linked.limits
    }

    /// Calls once, in a fresh instance.
    pub(crate) fn call<R>(
        &self,
        access: Access,
        call: impl FnOnce(&K::PluginInstance, &mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> Result<R, CallError> {
        self.component.linked.call_with(access, |store| {
            let plugin = K::instantiate(&self.component.pre, store)?;
            call(&plugin, store)
        })
    }

    /// Calls with items, in batches that a budget is likely to suffice for. `check` turns what the component
    /// returned for an item, unless that is an error, into a result.
    pub(crate) fn batch<T, Raw, R>(
        &self,
        items: &[T],
        call: impl FnMut(
            &K::PluginInstance,
            &mut Store<GuestState>,
            &[T],
        ) -> wasmtime::Result<Vec<Result<Raw, PluginError>>>,
        check: impl Fn(Raw, &T) -> Result<R, ItemError>,
    ) -> Vec<Result<R, ItemError>> {
        self.batch_with(self.component.linked.access(), items, call, check).results
    }

    /// The same with access of its own.
    pub(crate) fn batch_with<T, Raw, R>(
        &self,
        access: Access,
        items: &[T],
        mut call: impl FnMut(
            &K::PluginInstance,
            &mut Store<GuestState>,
            &[T],
        ) -> wasmtime::Result<Vec<Result<Raw, PluginError>>>,
        check: impl Fn(Raw, &T) -> Result<R, ItemError>,
    ) -> BatchResult<R> {
        let linked = &self.component.linked;
        call_in_batches(items, linked.limits.fuel_per_item, &mut |batch: &[T]| {
            let (result, fuel) = linked.call_counted(access.clone(), |store| {
                let plugin = K::instantiate(&self.component.pre, store)?;
                call(&plugin, store, batch)
            });
            let checked = result.and_then(|raw| {
                if raw.len() != batch.len() {
                    let (found, wanted) = (raw.len(), batch.len());
                    return Err(CallError::Failed(format!("returned {found} results for {wanted} items")));
                }
                let checked = raw.into_iter().zip(batch).map(|(raw, item)| {
                    check(raw.map_err(|error| validate_output::error(error, &linked.limits))?, item)
                });
                Ok(checked.collect())
            });
            (checked, fuel)
        })
    }
}
