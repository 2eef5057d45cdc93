//! Components with members, which are described, checked and configured. Shared by all plugin kinds.

use crate::batch::{BatchResult, ItemError, call_in_batches};
use crate::bindings::types::{InputSpec, Item, MemberSpec, PluginError, PluginInfo};
use crate::call_subject::{CallItem, CallSubject};
use crate::capabilities::Access;
use crate::capabilities::models::Models;
use crate::component::{CallError, InstanceSetup, LinkedComponent, LoadError, PluginIdentity};
use crate::component_schemas::{MemberSchema, compile_schemas};
use crate::host::PluginHost;
use crate::inputs::{Input, Inputs, MetricItem, ResolvedInputs, split_params};
use crate::inspect::ComponentSummary;
use crate::limits::Limits;
use crate::member_description::{InputDescription, MemberDescription, OptionalMetadata};
use crate::sandbox::GuestState;
use crate::schema::ParamsSchema;
use crate::validate_output;
use crate::work::{PluginWork, WorkCounter};
use crate::world::World;
use gage_core::{Digest, EvalContext, FieldError, Object};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::InstancePre;

/// Maximum number of members in a component.
pub(crate) const MAX_MEMBERS: usize = 256;
/// Maximum number of members that a message lists.
const MAX_LISTED_MEMBERS: usize = 64;
/// Maximum number of checked parameters of a component that are kept.
const MAX_KEPT_PARAMS: usize = 1_024;

/// A plugin kind, with the calls into its bindings. Sealed: there is one per world.
pub trait PluginKind: Sized + Send + Sync + 'static {
    /// The world.
    const WORLD: World;
    /// The component with its resolved exports.
    type PreInstance: Send + Sync;
    /// An instance of the component.
    type PluginInstance;
    /// Declarations of a member beyond its [`MemberDescription`].
    type Detail: Send + Sync;

    /// Resolves the exports.
    fn prepare(instance: InstancePre<GuestState>) -> wasmtime::Result<Self::PreInstance>;
    /// Creates an instance.
    fn instantiate(
        pre: &Self::PreInstance,
        store: &mut Store<GuestState>,
    ) -> impl Future<Output = wasmtime::Result<Self::PluginInstance>>;
    /// Queries the component's description and members.
    fn describe(
        plugin: &Self::PluginInstance,
        store: &mut Store<GuestState>,
    ) -> impl Future<Output = wasmtime::Result<(PluginInfo, Vec<DeclaredMember<Self>>)>>;
    /// Lets the component check parameters of a member.
    #[expect(clippy::ptr_arg, reason = "the bindings take no other reference to a text")]
    fn check(
        plugin: &Self::PluginInstance,
        store: &mut Store<GuestState>,
        member: &str,
        params: &String,
    ) -> impl Future<Output = wasmtime::Result<Result<(), PluginError>>>;
}

/// Declarations of a member by its component.
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

impl<K: PluginKind> Member<K> {
    /// Separates the host's parameters from those of the member, and checks both.
    pub(crate) fn split(&self, params: Value, world: World) -> Result<(Inputs, Object), Vec<FieldError>> {
        split_params(&self.inputs, &self.schema, params, world)
    }
}

/// Parts that components of all kinds share: their descriptions and the linked code.
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
    /// Members in the order of their descriptions, and the work of each.
    pub(crate) members: Vec<Member<K>>,
    work: Vec<Arc<WorkCounter>>,
    /// Checked parameters by member and given parameters. The tasks of a suite mostly share theirs.
    checked: Mutex<HashMap<(usize, String), Arc<CheckedParams>>>,
}

impl<K: PluginKind> Deref for PluginComponent<K> {
    type Target = LoadedComponent;

    fn deref(&self) -> &LoadedComponent {
        &self.loaded
    }
}

impl LoadedComponent {
    /// Returns the kind.
    pub fn world(&self) -> World {
        self.linked.summary.world
    }

    /// Returns the description of the component for the record of a run.
    pub fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    /// Returns the component's own description, in one sentence.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the `extra` metadata: license, homepage, requested grants.
    pub fn extra(&self) -> &Object {
        &self.extra
    }

    /// Returns the summary that was read from its bytes.
    pub fn summary(&self) -> &ComponentSummary {
        &self.linked.summary
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.linked.limits
    }

    /// Returns the descriptions of its members.
    pub fn descriptions(&self) -> &[MemberDescription] {
        &self.descriptions
    }

    /// Sets the models of the run, as far as they are granted.
    pub fn set_models(&self, models: Arc<dyn Models>) {
        self.linked.set_models(models);
    }
}

impl<K: PluginKind> PluginComponent<K> {
    /// Loads a component and queries its members.
    ///
    /// # Errors
    /// If it is a plugin of another kind, imports an interface that was not granted, does not compile, or
    /// declares something invalid.
    pub fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        setup: &InstanceSetup,
    ) -> Result<PluginComponent<K>, LoadError> {
        let mut linked = LinkedComponent::load(host, name, bytes, K::WORLD, setup)?;
        let fail = |message: String| LoadError { name: name.to_owned(), message, help: None };
        let pre = K::prepare(linked.instance.clone()).map_err(|error| fail(format!("{error:#}")))?;
        let described = linked.call(&CallSubject::default(), async |store| {
            let plugin = K::instantiate(&pre, store).await?;
            K::describe(&plugin, store).await
        });
        let (info, declared) = described.map_err(|error| fail(error.while_doing("describing itself")))?;
        let extra = validate_output::info(&info, &linked.limits).map_err(fail)?;
        linked.limits = linked.limits.clone().with_declared(&extra, &setup.limits).map_err(fail)?;
        let (descriptions, members) = read_members(declared, &linked.limits).map_err(fail)?;
        let identity = linked.identity(&info);
        let loaded = LoadedComponent { linked, identity, description: info.description, extra, descriptions };
        let counter =
            |one: &MemberDescription| host.works().counter(&loaded.identity.name, K::WORLD, &one.name);
        let work = loaded.descriptions.iter().map(counter).collect();
        Ok(PluginComponent { loaded, pre, members, work, checked: Mutex::default() })
    }

    /// Configures one of its members, or its only member if no name is given.
    ///
    /// # Errors
    /// All problems with the name and the parameters. Pointers refer to `params`.
    pub fn configure(
        self: &Arc<PluginComponent<K>>,
        name: Option<&str>,
        params: Value,
    ) -> Result<ConfiguredMember<K>, Vec<FieldError>> {
        let index = member_index(K::WORLD, &self.descriptions, name)?;
        let key = (index, params.to_string());
        let known = self.checked.lock().get(&key).cloned();
        let params = match known {
            Some(params) => params,
            None => {
                let params = Arc::new(self.check_params(index, params)?);
                let mut checked = self.checked.lock();
                if checked.len() < MAX_KEPT_PARAMS {
                    checked.insert(key, Arc::clone(&params));
                }
                params
            }
        };
        Ok(ConfiguredMember { component: Arc::clone(self), index, params })
    }

    /// Checks parameters of a member against its schema, and lets the component check them.
    fn check_params(&self, index: usize, params: Value) -> Result<CheckedParams, Vec<FieldError>> {
        let given = params.as_object().cloned().unwrap_or_default();
        let (inputs, own) = self.members[index].split(params, K::WORLD)?;
        let own = Value::Object(own).to_string();
        let name = &self.descriptions[index].name;
        let checked = self.linked.call(&CallSubject::of_member(name), async |store| {
            let plugin = K::instantiate(&self.pre, store).await?;
            K::check(&plugin, store, name, &own).await
        });
        match checked {
            Ok(Ok(())) => Ok(CheckedParams { inputs, own, given }),
            Ok(Err(error)) => {
                let error = validate_output::error(error, &self.linked.limits);
                Err(vec![FieldError { pointer: error.pointer.unwrap_or_default(), message: error.message }])
            }
            Err(error) => {
                let message = error.while_doing("checking its parameters");
                Err(vec![FieldError { pointer: String::new(), message }])
            }
        }
    }
}

/// Finds a member by its name, or the only member if no name is given.
pub(crate) fn member_index(
    world: World,
    members: &[MemberDescription],
    name: Option<&str>,
) -> Result<usize, Vec<FieldError>> {
    let problem = |message: String| vec![FieldError { pointer: String::new(), message }];
    let names = || members.iter().map(|one| one.name.as_str());
    let known = || gage_core::name_list(names(), MAX_LISTED_MEMBERS, ", ");
    match name {
        None if members.len() == 1 => Ok(0),
        None => Err(problem(format!("the component has several; name one {world} with #: {}", known()))),
        Some(name) => names()
            .position(|one| one == name)
            .ok_or_else(|| problem(format!("the component has no {world} '{name}'; it has {}", known()))),
    }
}

/// Checks and stores a component's declarations of its members.
pub(crate) fn read_members<K: PluginKind>(
    declared: Vec<DeclaredMember<K>>,
    limits: &Limits,
) -> Result<(Vec<MemberDescription>, Vec<Member<K>>), String> {
    if declared.is_empty() {
        return Err(format!("it has no {}", K::WORLD));
    }
    if declared.len() > MAX_MEMBERS {
        return Err(format!("it has {} members; at most {MAX_MEMBERS} are allowed", declared.len()));
    }
    for DeclaredMember { spec, inputs, optional, .. } in &declared {
        validate_output::member(spec, inputs, optional, limits)?;
    }
    for (place, DeclaredMember { spec, .. }) in declared.iter().enumerate() {
        if declared[..place].iter().any(|earlier| earlier.spec.name == spec.name) {
            return Err(format!("it declares the {} '{}' twice", K::WORLD, spec.name));
        }
    }
    let texts = declared.iter().map(|member| (member.spec.name.as_str(), member.spec.params_schema.as_str()));
    let schemas = compile_schemas(texts)?;
    Ok(declared.into_iter().zip(schemas).map(|(member, schema)| read_member(member, schema)).unzip())
}

/// Stores a component's declaration of a member.
fn read_member<K: PluginKind>(
    declared: DeclaredMember<K>,
    schema: MemberSchema,
) -> (MemberDescription, Member<K>) {
    let DeclaredMember { spec, inputs, optional, detail } = declared;
    let description = MemberDescription {
        description: spec.description,
        version: spec.version,
        hook: optional.hook.map(str::to_owned),
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
        params_schema: schema.json,
        name: spec.name,
    };
    (description, Member { inputs, detail, schema: schema.compiled })
}

/// A member with its parameters, ready to be called.
pub struct ConfiguredMember<K: PluginKind> {
    pub(crate) component: Arc<PluginComponent<K>>,
    index: usize,
    params: Arc<CheckedParams>,
}

/// Parameters of a member that are checked.
struct CheckedParams {
    inputs: Inputs,
    /// The parameters for the component, as JSON.
    own: String,
    /// The parameters as given, including those that name paths.
    given: Object,
}

impl<K: PluginKind + ResolvedInputs> ConfiguredMember<K> {
    /// Returns its inputs, with the effective paths.
    pub fn inputs(&self) -> &[Input] {
        &self.params.inputs.list
    }

    /// Returns whether a sample without a reference keeps the score that the member gives it, because the suite sets
    /// `on_missing_field: ignore`.
    pub fn scores_missing_references(&self) -> bool {
        self.params.inputs.scores_missing_references()
    }

    /// Returns whether the suite sets `weight_field`.
    pub fn has_weights(&self) -> bool {
        self.params.inputs.has_weights()
    }

    /// Returns the weight of a sample in the aggregation. `None` if the suite sets no `weight_field`.
    ///
    /// # Errors
    /// If there is no number of at least 0 at the path.
    pub fn weight(&self, roots: EvalContext<'_>) -> Option<Result<f64, ItemError>> {
        self.params.inputs.weight(roots)
    }

    /// Resolves the inputs of one sample.
    pub fn resolve(&self, sample_id: &str, roots: EvalContext<'_>) -> MetricItem {
        let inputs = self.params.inputs.resolve(self.name(), sample_id, roots);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }

    /// Takes the inputs by name, without a sample.
    pub fn item(&self, sample_id: &str, values: &Object) -> MetricItem {
        let inputs = self.params.inputs.by_name(values);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }
}

impl<K: PluginKind> ConfiguredMember<K> {
    /// Returns the member's description.
    pub fn description(&self) -> &MemberDescription {
        &self.component.descriptions[self.index]
    }

    /// Returns the same member with some parameters changed.
    ///
    /// # Errors
    /// All problems with the parameters.
    pub fn with_params(&self, changed: &Object) -> Result<ConfiguredMember<K>, Vec<FieldError>> {
        let mut params = self.params.given.clone();
        params.extend(changed.clone());
        self.component.configure(Some(self.name()), Value::Object(params))
    }

    /// Returns whether its component imports an interface that needs a grant, such as HTTP.
    pub fn has_capabilities(&self) -> bool {
        !self.component.linked.summary.capabilities().is_empty()
    }

    /// Returns the description of its component for the record of a run.
    pub fn identity(&self) -> &PluginIdentity {
        self.component.identity()
    }

    /// Returns whether its component lists it under this key in the `extra` metadata.
    pub(crate) fn is_named_in(&self, list: &str) -> bool {
        let names = self.component.extra.get(list).and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|name| name == self.name()))
    }

    /// Returns whether it runs programs that come with its items. A call then has one item, so that no program meets the
    /// traces of another. Its component declares this in `runs_programs`, a list in its `extra` metadata.
    pub(crate) fn runs_programs(&self) -> bool {
        self.is_named_in("runs_programs")
    }

    /// Returns the digest of everything that determines its results besides its input: the bytes of the
    /// component, the name of the member, and the given parameters.
    pub fn digest(&self) -> Digest {
        let component = self.identity().digest;
        Digest::of_json(&json!({"component": component, "member": self.name(), "params": self.params.given}))
    }

    /// Returns the work done so far, by all users of this member of the component.
    pub fn work(&self) -> PluginWork {
        self.component.work[self.index].work()
    }

    pub(crate) fn member(&self) -> &Member<K> {
        &self.component.members[self.index]
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.description().name
    }

    pub(crate) fn params(&self) -> &String {
        &self.params.own
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.component.linked.limits
    }

    fn counter(&self) -> &WorkCounter {
        &self.component.work[self.index]
    }

    /// Calls once, in a fresh instance, about a number of items.
    pub(crate) fn call<R>(
        &self,
        access: Access,
        items: usize,
        mut call: impl AsyncFnMut(&K::PluginInstance, &mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> Result<R, CallError> {
        let subject = CallSubject::of_member(self.name());
        let linked = &self.component.linked;
        let counted = linked.call_counted(&subject, access, self.counter(), items as u64, async |store| {
            let plugin = K::instantiate(&self.component.pre, store).await?;
            call(&plugin, store).await
        });
        counted.0
    }

    /// Calls with items, in batches that are likely to fit a budget. `check` converts the component's output
    /// for an item into a result, unless the output is an error.
    pub(crate) fn batch<T: CallItem, Raw, R>(
        &self,
        items: &[T],
        call: impl AsyncFnMut(
            &K::PluginInstance,
            &mut Store<GuestState>,
            &[T],
        ) -> wasmtime::Result<Vec<Result<Raw, PluginError>>>,
        check: impl Fn(Raw, &T) -> Result<R, ItemError>,
    ) -> Vec<Result<R, ItemError>> {
        self.batch_with(self.component.linked.access(), items, call, check).results
    }

    /// Like `batch`, but with separate access.
    pub(crate) fn batch_with<T: CallItem, Raw, R>(
        &self,
        access: Access,
        items: &[T],
        mut call: impl AsyncFnMut(
            &K::PluginInstance,
            &mut Store<GuestState>,
            &[T],
        ) -> wasmtime::Result<Vec<Result<Raw, PluginError>>>,
        check: impl Fn(Raw, &T) -> Result<R, ItemError>,
    ) -> BatchResult<R> {
        let linked = &self.component.linked;
        let most_items = if self.runs_programs() { 1 } else { usize::MAX };
        call_in_batches(items, linked.limits.fuel_per_item, most_items, &mut |batch: &[T]| {
            let subject = CallSubject::of_batch(self.name(), batch);
            let (access, items) = (access.clone(), batch.len() as u64);
            let (result, fuel) =
                linked.call_counted(&subject, access, self.counter(), items, async |store| {
                    let plugin = K::instantiate(&self.component.pre, store).await?;
                    call(&plugin, store, batch).await
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
