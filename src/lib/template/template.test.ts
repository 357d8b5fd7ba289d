import assert from "node:assert/strict";
import { test } from "node:test";
import { builtins } from "./builtins.ts";
import { TemplateError, TemplateFault } from "./faults.ts";
import { takes } from "./function.ts";
import { library } from "./library.ts";
import { compileTemplate } from "./template.ts";
import type { Value } from "./values.ts";

const functions = { ...library, ...builtins, Clock: takes(0, (_, __, scope: string) => scope) };
const render = (source: string, data: Value = {}): string => compileTemplate(source, functions).render(data, "noon");

const pod: Value = {
  name: "web",
  spec: { containers: [{ name: "a", image: "x:1" }, { name: "b" }], replicas: 3, zero: 0, on: true, none: null },
  labels: { app: "web", "a/b": "c" },
  empty: [],
};

const cases: readonly (readonly [source: string, text: string])[] = [
  ["plain { text } }}", "plain { text } }}"],
  ["{{ .name }}/{{ .nope }}/{{ .nope.deeper }}", "web/<no value>/<no value>"],
  ["{{ .spec.replicas }} {{ .spec.on }} {{ .spec.none }}", "3 true <no value>"],
  ["a  {{- .name -}}  b {{ .name }} c", "awebb web c"],
  ["a {{/* a comment }} */}} b {{- /* c */ -}} d", "a  bd"],
  [
    '{{ 3 }} {{ -4 }} {{ 0x10 }} {{ 1.5 }} {{ \'a\' }} {{ true }} {{ "q\\n\\x41\\"" }} {{ `r\\n` }}',
    '3 -4 16 1.5 97 true q\nA" r\\n',
  ],
  ["{{ .labels }} {{ .spec.containers }}", "map[a/b:c app:web] [map[image:x:1 name:a] map[name:b]]"],
  ["{{ $x := .name }}{{ $x }}{{ $x = 2 }}{{ $x }}{{ $.name }}", "web2web"],
  ["{{ if .name }}yes{{ else }}no{{ end }}{{ if .empty }}yes{{ else if .nope }}maybe{{ else }}no{{ end }}", "yesno"],
  ["{{ if .spec.zero }}numbers of the data are texts{{ end }}{{ if 0 }}zero{{ end }}", "numbers of the data are texts"],
  ["{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}", "32"],
  ["{{ range .spec.containers }}{{ .name }},{{ end }}", "a,b,"],
  ["{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }}{{ $.name }} {{ end }}", "0aweb 1bweb "],
  ["{{ range $c := .spec.containers }}{{ $c.name }}{{ end }}", "ab"],
  ["{{ range $k, $v := .labels }}{{ $k }}={{ $v }};{{ end }}", "a/b=c;app=web;"],
  ["{{ range .empty }}x{{ else }}none{{ end }}{{ range .nope }}x{{ end }}", "none"],
  ["{{ range 3 }}{{ . }}{{ end }}", "012"],
  [
    "{{ range until 9 }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ if gt . 4 }}{{ break }}{{ end }}{{ . }}{{ end }}",
    "0134",
  ],
  ["{{ with .spec }}{{ .replicas }}{{ end }}{{ with .nope }}x{{ else with .name }}{{ . }}{{ else }}y{{ end }}", "3web"],
  ["{{ with $c := index .spec.containers 0 }}{{ $c.image }}{{ end }}", "x:1"],
  [
    '{{ or .nope "" .name }} {{ and .name .nope }} {{ not .name }} {{ or .nope nil }}',
    "web <no value> false <no value>",
  ],
  ["{{ or true (index .nope 1) }}", "true"],
  [
    '{{ eq .name "web" }} {{ eq .name "a" "web" }} {{ ne .name "a" }} {{ eq .nope "x" }} {{ eq .spec.replicas 3 }}',
    "true true true false true",
  ],
  ['{{ eq .spec.replicas "3" }} {{ lt 1 2 }} {{ ge .spec.replicas 4 }} {{ le "a" "b" }}', "true true false true"],
  ['{{ len .spec.containers }} {{ len .name }} {{ len "ä" }} {{ len .labels }}', "2 3 2 2"],
  ['{{ index .labels "a/b" }} {{ index .labels "no" }} {{ (index .spec.containers 1).name }}', "c <no value> b"],
  ["{{ slice .name 1 }} {{ slice .name 0 2 }}", "eb we"],
  [
    '{{ printf "%s-%d|%5s|%-4s|%04d|%q|%v|%.2f|%x|%t|%%" .name 7 "a" "b" 42 "q" .labels 1.5 255 true }}',
    'web-7|    a|b   |0042|"q"|map[a/b:c app:web]|1.50|ff|true|%',
  ],
  ['{{ printf "%d %s" "a" }} {{ printf "x" 1 }}', "%!d(string=a) %!s(MISSING) x%!(EXTRA int=1)"],
  ['{{ print "a" 1 2 "b" }}{{ println 1 "x" }}', "a1 2b1 x\n"],
  ['{{ .name | printf "%s-%s" Clock }} {{ Clock | upper | quote }}', 'noon-web "NOON"'],
  [
    '{{ default "x" .nope }} {{ default "x" .name }} {{ coalesce .nope .empty "z" }} {{ ternary 1 2 true }}',
    "x web z 1",
  ],
  [
    '{{ list "a" .name | join "-" }} {{ (list 1 2 3 | rest) }} {{ first (list 4 5) }} {{ has "a" (list "a") }}',
    "a-web [2 3] 4 true",
  ],
  ['{{ $d := dict "a" 1 "b" "x" }}{{ $d.b }}{{ get $d "a" }}{{ hasKey $d "c" }}{{ keys $d }}', "x1false[a b]"],
  [
    '{{ replace "e" "E" .name }} {{ trimPrefix "w" .name }} {{ trunc 2 .name }} {{ contains "eb" .name }} {{ splitList "e" .name }}',
    "wEb eb we true [w b]",
  ],
  [
    '{{ add 1 2 .spec.replicas }} {{ sub 5 2 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }} {{ max 1 9 }} {{ int "12" }} {{ add1 1 }}',
    "6 3 6 3 1 9 12 2",
  ],
  [
    '{{ toJson .spec.containers }} {{ b64enc .name }} {{ b64dec "d2Vi" }}',
    '[{"image":"x:1","name":"a"},{"name":"b"}] d2Vi web',
  ],
  ["a:{{ toYaml .labels | nindent 2 }}", 'a:\n  "a/b": "c"\n  "app": "web"\n  '],
];

test("a template renders what Go renders", () => {
  for (const [source, text] of cases) assert.equal(render(source, pod), text, source);
});

test("a template that cannot be read is refused with the place", () => {
  const faults: readonly (readonly [source: string, message: string])[] = [
    ["a\n {{ nope . }}", 'line 2, column 5: function "nope" is not supported'],
    ["{{ $x }}", "line 1, column 4: undefined variable $x"],
    ["{{ $x = 1 }}", "line 1, column 4: undefined variable $x"],
    ["{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", "line 1, column 39: undefined variable $x"],
    ["{{ if true }}x", "line 1, column 1: if without end"],
    ["x{{ end }}", "line 1, column 2: unexpected end"],
    ["{{ if true }}{{ else }}{{ else }}{{ end }}", "line 1, column 24: a second else"],
    ["{{ range . }}{{ else if . }}{{ end }}", 'line 1, column 22: unexpected "if" after else'],
    ["{{ .a", "line 1, column 6: {{ without }}"],
    ["{{ }}", "line 1, column 1: a value is missing"],
    ["{{ .a .b }}", "line 1, column 7: only a function can have parameters"],
    ["{{ .a | .b }}", "line 1, column 9: a function must follow |"],
    ["{{ (.a }}", "line 1, column 4: ( without )"],
    ["{{ len }}", "line 1, column 4: len has 0 parameters and needs 1"],
    ["{{ .a | len .b }}", "line 1, column 9: len has 2 parameters and needs 1"],
    ["{{ eq 1 }}", "line 1, column 4: eq has 1 parameters and needs at least 2"],
    ["{{ break }}", "line 1, column 1: break outside of range"],
    ['{{ define "x" }}{{ end }}', "line 1, column 1: define is not supported"],
    ['{{ template "x" }}', "line 1, column 1: template is not supported"],
    ["{{ .a ? }}", 'line 1, column 7: unexpected "?"'],
    ['{{ "\\q" }}', "line 1, column 4: wrong escape \\q"],
    ["{{ constructor }}", 'line 1, column 4: function "constructor" is not supported'],
    [`${"{{ if true }}".repeat(60)}${"{{ end }}".repeat(60)}`, "line 1, column 651: is nested too deeply"],
    [`{{ ${"(".repeat(60)}1${")".repeat(60)} }}`, "line 1, column 1: is nested too deeply"],
    ["x".repeat(200_001), "line 1, column 1: is longer than 200000 characters"],
  ];
  for (const [source, message] of faults) {
    const isIt = (error: unknown): boolean => error instanceof TemplateError && error.message === message;
    assert.throws(() => compileTemplate(source, functions), isIt, message);
  }
});

test("data that does not fit is a fault with the place", () => {
  const faults: readonly (readonly [source: string, message: RegExp])[] = [
    ["{{ .name.x }}", /^line 1, column 9: can't evaluate field x in type string$/],
    ["\n{{ index .spec.containers 5 }}", /^line 2, column 4: index out of range: 5$/],
    ["{{ index .nope 5 }}", /index of untyped nil/],
    ["{{ len .nope }}", /len of type nil/],
    ["{{ eq .name true }}", /incompatible types for comparison: string and bool/],
    ["{{ range .name }}{{ end }}", /range can't iterate over web/],
    ['{{ fail "no" }}', /: no$/],
    ["{{ div 1 0 }}", /divide by zero/],
  ];
  for (const [source, message] of faults) {
    assert.throws(
      () => render(source, pod),
      (error) => error instanceof TemplateFault && message.test(error.message),
      source,
    );
  }
});

test("a template cannot run for long or write much", () => {
  const loops = `${"{{ range until 100 }}".repeat(5)}${"{{ end }}".repeat(5)}`;
  assert.throws(() => render(loops), /takes too many steps/);
  assert.throws(() => render("{{ range 1000000000 }}{{ end }}"), /takes too many steps/);
  assert.throws(() => render('{{ repeat 1000000000 "x" }}'), /takes too many steps/);
  assert.throws(() => render('{{ printf "%999999999d" 1 }}'), /too wide/);
  const doubling = `{{ $x := "0123456789" }}${'{{ $x = printf "%s%s" $x $x }}'.repeat(40)}`;
  assert.throws(() => render(doubling), /takes too many steps/);
  const replacing = `{{ $x := "aaaaaaaaaa" }}${'{{ $x = replace "a" "aaaaaaaaaa" $x }}'.repeat(9)}`;
  assert.throws(() => render(replacing), /takes too many steps/);
  const shared = "{{ $l := list 1 1 }}{{ range 40 }}{{ $l = list $l $l }}{{ end }}";
  for (const use of ["{{ toYaml $l }}", "{{ $l }}", "{{ print $l $l }}", "{{ toJson $l | len }}", "{{ eq $l $l }}"]) {
    assert.throws(() => render(`${shared}${use}`), /reads too much/, use);
  }
  const long = {
    text: "x".repeat(1_000_000),
    map: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n])),
  };
  for (const use of ["quote .text", 'splitList "," .text', "keys .map", "toYaml .map"]) {
    assert.throws(
      () => render(`{{ range $i := until 1000 }}{{ $x := ${use.replaceAll(" .", " $.")} }}{{ end }}`, long),
      /reads too much/,
      use,
    );
  }
  const much = `{{ $x := repeat 100000 "x" }}{{ range 50 }}{{ $x }}{{ end }}`;
  assert.throws(() => render(much), /writes more than 1048576 characters/);
});

test("members of prototypes are not found", () => {
  assert.equal(render('{{ .constructor }}{{ index . "__proto__" }}', {}), "<no value><no value>");
  assert.equal(render('{{ (dict "__proto__" "x").toString }}'), "<no value>");
  assert.equal(({} as { toString?: unknown }).toString, Object.prototype.toString);
});
