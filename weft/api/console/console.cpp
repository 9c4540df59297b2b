// tidy: allow-file foreign: whether a descriptor is a terminal
#include <unistd.h>

#include "weft/api/application/application.h"
#include "weft/api/console/bindings.h"

namespace weft::api {
namespace {

// In the order of the constants in inspect.js.
enum class ValueKind : int {
    Plain,
    Map,
    Set,
    WeakMap,
    WeakSet,
    Promise,
    Proxy,
    Date,
    RegExp,
    Error,
    ArrayBuffer,
    SharedArrayBuffer,
    TypedArray,
    DataView,
    MapIterator,
    SetIterator,
    Generator,
    Arguments,
    NumberObject,
    StringObject,
    BooleanObject,
    BigIntObject,
    SymbolObject,
    Module,
    External,
    Array,
    Function,
    AsyncFunction,
    GeneratorFunction,
    AsyncGeneratorFunction,
};

ValueKind kind_of_function(v8::Local<v8::Value> value) {
    if (value->IsAsyncFunction())
        return value->IsGeneratorFunction() ? ValueKind::AsyncGeneratorFunction
                                            : ValueKind::AsyncFunction;
    return value->IsGeneratorFunction() ? ValueKind::GeneratorFunction : ValueKind::Function;
}

ValueKind kind_of_box(v8::Local<v8::Value> value) {
    if (value->IsNumberObject()) return ValueKind::NumberObject;
    if (value->IsStringObject()) return ValueKind::StringObject;
    if (value->IsBooleanObject()) return ValueKind::BooleanObject;
    if (value->IsBigIntObject()) return ValueKind::BigIntObject;
    if (value->IsSymbolObject()) return ValueKind::SymbolObject;
    return ValueKind::Plain;
}

ValueKind kind_of(v8::Local<v8::Value> value) {
    if (value->IsProxy()) return ValueKind::Proxy;
    if (value->IsArray()) return ValueKind::Array;
    if (value->IsFunction()) return kind_of_function(value);
    if (value->IsNativeError()) return ValueKind::Error;
    if (value->IsMap()) return ValueKind::Map;
    if (value->IsSet()) return ValueKind::Set;
    if (value->IsPromise()) return ValueKind::Promise;
    if (value->IsTypedArray()) return ValueKind::TypedArray;
    if (value->IsArrayBuffer()) return ValueKind::ArrayBuffer;
    if (value->IsDate()) return ValueKind::Date;
    if (value->IsRegExp()) return ValueKind::RegExp;
    if (value->IsWeakMap()) return ValueKind::WeakMap;
    if (value->IsWeakSet()) return ValueKind::WeakSet;
    if (value->IsSharedArrayBuffer()) return ValueKind::SharedArrayBuffer;
    if (value->IsDataView()) return ValueKind::DataView;
    if (value->IsMapIterator()) return ValueKind::MapIterator;
    if (value->IsSetIterator()) return ValueKind::SetIterator;
    if (value->IsGeneratorObject()) return ValueKind::Generator;
    if (value->IsArgumentsObject()) return ValueKind::Arguments;
    if (value->IsModuleNamespaceObject()) return ValueKind::Module;
    if (value->IsExternal()) return ValueKind::External;
    return kind_of_box(value);
}

void value_kind(js::Call& call) { call.give(static_cast<double>(kind_of(call[0]))); }

void promise_state(js::Call& call) {
    auto promise = call[0].As<v8::Promise>();
    v8::Local<v8::Value> pair[] = {
        v8::Integer::New(call.v8(), static_cast<int>(promise->State())),
        v8::Undefined(call.v8()),
    };
    if (promise->State() != v8::Promise::kPending) pair[1] = promise->Result();
    call.give(call.array(pair));
}

void proxy_details(js::Call& call) {
    auto proxy = call[0].As<v8::Proxy>();
    v8::Local<v8::Value> pair[] = {proxy->GetTarget(), proxy->GetHandler()};
    call.give(call.array(pair));
}

void preview_entries(js::Call& call) {
    bool pairs = false;
    v8::Local<v8::Array> entries;
    if (!call[0].As<v8::Object>()->PreviewEntries(&pairs).ToLocal(&entries))
        entries = v8::Array::New(call.v8());
    v8::Local<v8::Value> pair[] = {entries, v8::Boolean::New(call.v8(), pairs)};
    call.give(call.array(pair));
}

void own_non_index_keys(js::Call& call) {
    v8::Local<v8::Array> keys;
    if (call[0]
            .As<v8::Object>()
            ->GetPropertyNames(call.context(), v8::KeyCollectionMode::kOwnOnly, v8::ALL_PROPERTIES,
                               v8::IndexFilter::kSkipIndices)
            .ToLocal(&keys))
        call.give(keys);
}

void console_write(js::Call& call) {
    JsApplication::of(call.isolate())
        .console()
        .write(static_cast<int>(call.integer(0)), call.text(1));
}

void console_is_tty(js::Call& call) { call.give(::isatty(static_cast<int>(call.integer(0))) == 1); }

constexpr js::Binding kBindings[] = {
    js::bind<value_kind>("valueKind", "(value: object): number"),
    js::bind<promise_state>("promiseState", "(promise: Promise<unknown>): [number, unknown]"),
    js::bind<proxy_details>("proxyDetails", "(proxy: object): [object | null, object | null]"),
    js::bind<preview_entries>("previewEntries", "(iterator: object): [unknown[], boolean]"),
    js::bind<own_non_index_keys>("ownNonIndexKeys", "(object: object): (string | symbol)[]"),
    js::bind<console_write>("consoleWrite", "(fd: number, text: string): void"),
    js::bind<console_is_tty>("consoleIsTty", "(fd: number): boolean"),
};

}  // namespace

std::span<const js::Binding> console_bindings() { return kBindings; }

}  // namespace weft::api
