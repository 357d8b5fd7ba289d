import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, type Outcome } from "#cel/compile.ts";
import {
  type AccessCheck,
  authorizerType,
  authorizerValue,
  requestResourceValue,
  resourceCheckType,
} from "./authorizer.ts";
import { kubernetesEnvironment, perCallLimit } from "./environment.ts";
import { patchTypes } from "./patch-types.ts";

const environment = kubernetesEnvironment().extend({
  ...patchTypes,
  variables: { authorizer: authorizerType, "authorizer.requestResource": resourceCheckType },
});
const access: AccessCheck = {
  check: ({ verb, path, resource, serviceAccount }) => {
    if (verb === "fail") return { allowed: false, error: "no answer" };
    const allowed = path === "/healthz" || (resource?.resource === "pods" && serviceAccount?.name !== "stranger");
    return { allowed, reason: allowed ? "granted" : "" };
  },
};
const request = {
  group: "",
  resource: "pods",
  subresource: "",
  namespace: "default",
  name: "web",
  fieldSelector: "",
  labelSelector: "",
};
const variables = new Map([
  ["authorizer", authorizerValue(access)],
  ["authorizer.requestResource", requestResourceValue(access, request)],
]);

function run(source: string): Outcome {
  const compiled = compile(environment, source);
  if (!compiled.program) return { error: compiled.message, cost: 0, work: 0 };
  return compiled.program.evaluate(variables, perCallLimit);
}

const holds = [
  // quantity
  "quantity('1.5G').isGreaterThan(quantity('1G'))",
  "quantity('200M').compareTo(quantity('0.2G')) == 0",
  "quantity('50Mi').compareTo(quantity('50M')) == 1",
  "quantity('50k').add(quantity('20k')) == quantity('70k')",
  "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
  "quantity('50k').asInteger() == 50000 && quantity('50k').isInteger()",
  "!quantity('1500m').isInteger() && quantity('1500m').asApproximateFloat() == 1.5",
  "!quantity('9999999999999999999999999999999999999G').isInteger()",
  "isQuantity('1.3Gi') && !isQuantity('1,3G') && !isQuantity('200K') && !isQuantity('Mi')",
  "quantity('-1').sign() == -1 && quantity('0').sign() == 0",
  // ip and cidr
  "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP(':::1') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
  "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6",
  "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && !ip.isCanonical('2001:db8::0:0:0:abcd')",
  "ip('0.0.0.0').isUnspecified() && !ip('127.0.0.1').isUnspecified() && ip('::').isUnspecified()",
  "ip('127.0.0.1').isLoopback() && ip('::1').isLoopback() && !ip('192.168.0.1').isLoopback()",
  "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
  "ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()",
  "ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()",
  "string(ip('2001:DB8:0:0::1')) == '2001:db8::1' && ip('::1') == ip('0:0::1')",
  "isCIDR('192.168.0.0/24') && isCIDR('::1/128') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.0/')",
  "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
  "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24')) && !cidr('192.168.0.0/24').containsCIDR('192.168.0.0/16')",
  "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
  "cidr('192.168.0.0/24').prefixLength() == 24 && string(cidr('10.1.2.3/8').masked()) == '10.0.0.0/8'",
  // url
  "isURL('https://example.com:80/') && isURL('/absolute-path') && !isURL('https://a:b:c/') && !isURL('../relative-path')",
  "url('https://example.com:80/').getHost() == 'example.com:80' && url('https://example.com:80/').getPort() == '80'",
  "url('https://[::1]:80/').getHostname() == '::1' && url('/path').getScheme() == ''",
  "url('https://example.com/with space/').getEscapedPath() == '/with%20space/'",
  "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
  "url('https://example.com/?k=with%20space&q=a+b').getQuery() == {'k': ['with space'], 'q': ['a b']}",
  // regex
  "'abc 123'.find('[0-9]+') == '123' && 'abc 123'.find('xyz') == ''",
  "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '123 abc 456'.findAll('[0-9]+', 1) == ['123']",
  // lists
  "[1, 2, 3].isSorted() && !['b', 'a'].isSorted() && [1, 3].sum() == 4 && [1.0, 3.0].sum() == 4.0",
  "[duration('1m'), duration('1s')].sum() == duration('1m1s')",
  "[1, 3].min() == 1 && ['a', 'c', 'b'].max() == 'c'",
  "[1, 2, 2, 3].indexOf(2) == 1 && ['a', 'b', 'b'].lastIndexOf('b') == 2 && [1.0].indexOf(1.1) == -1",
  "'abcabc'.indexOf('b') == 1 && 'abcabc'.lastIndexOf('b') == 4",
  // format
  "!format.dns1123Label().validate('contoso').hasValue()",
  "format.dns1123Label().validate('Contoso').hasValue() && format.named('uuid').hasValue() && !format.named('x').hasValue()",
  "!format.named('date').value().validate('2020-02-29').hasValue() && format.date().validate('2021-02-29').value() == ['invalid date']",
  "!format.dns1123LabelPrefix().validate('abc-').hasValue() && format.byte().validate('***').hasValue()",
  // semver
  "semver('1.2.3').isLessThan(semver('1.3.0')) && semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))",
  "semver('1.0.0-alpha.2').compareTo(semver('1.0.0-alpha.10')) == -1 && semver('1.0.0+a') == semver('1.0.0+b')",
  "!isSemver('v1.0') && isSemver('v1.0', true) && semver('v01.2', true).minor() == 2 && !isSemver('1.0.0.0')",
  // authorizer
  "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
  "authorizer.path('/healthz').check('get').reason() == 'granted'",
  "authorizer.requestResource.check('create').allowed()",
  "!authorizer.serviceAccount('default', 'stranger').group('').resource('pods').check('list').allowed()",
  "authorizer.path('/x').check('fail').errored() && authorizer.path('/x').check('fail').error() == 'no answer'",
  // format of strings: as cel-go's second version writes it
  "'%s has %d of %.1f'.format(['x', 1, 1234.56]) == 'x has 1 of 1,234.6'",
  `'%s'.format([['a', 'b']]) + '%s'.format([[duration('1s')]]) == '["a", "b"][duration("1s")]'`,
  `'%s %e'.format([{'k': 1.5}, 2.71828]) == '{"k":1.500000} 2.718280\u202f×\u202f10⁰⁰'`,
  // json patch, sets, strings, two variables
  "jsonpatch.escapeKey('k8s.io/my~label') == 'k8s.io~1my~0label'",
  "sets.contains(['a', 'b'], ['a']) && {'a': 1}.all(k, v, v == 1) && 'a.b'.split('.') == ['a', 'b']",
];

for (const source of holds) {
  test(`${source} is true`, () => assert.deepEqual(run(source).error ?? run(source).value, true));
}

const twice = (text: string): string => text + text;
const fails: readonly (readonly [string, string])[] = [
  ["quantity('200K')", "unable to parse quantity's suffix"],
  ["quantity('1.5').asInteger()", "cannot convert value to integer"],
  ["ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
  ...[
    ["1.2.3.4", "no '/'"],
    ["1.2.3/8", 'ParseAddr("1.2.3"): IPv4 address too short'],
    ["fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"],
    ["10.0.0.0/08", 'bad bits after slash: "08"'],
    ["10.0.0.0/33", "prefix length out of range"],
  ].map(([text, why]): readonly [string, string] => [
    `cidr('${text}')`,
    `${twice("network address parse error during conversion from string: ")}netip.ParsePrefix("${text}"): ${why}`,
  ]),
  ["semver('')", "Version string empty"],
  ["semver('v1.0')", "No Major.Minor.Patch elements found"],
  ["semver('v1.0.0')", 'Invalid character(s) found in major number "v1"'],
  ["semver('1.02.3')", 'Minor number must not contain leading zeroes "02"'],
  ["semver('1.2.')", 'strconv.ParseUint: parsing "": invalid syntax'],
  ["semver('1.2.3-')", "Prerelease is empty"],
  ["semver('1.2.3-a.01')", 'Numeric PreRelease version must not contain leading zeroes "01"'],
  ["semver('1.2.3-a_b')", 'Invalid character(s) found in prerelease "a_b"'],
  ["semver('1.2.3+a..b')", "Build meta data is empty"],
  ["semver('v1-alpha', true)", "short version cannot contain PreRelease/Build meta data"],
  ["url('relative')", 'URL parse error during conversion from string: parse "relative": invalid URI for request'],
  ["[1].filter(x, x > 1).min()", "min called on empty list"],
  ["authorizer.serviceAccount('default', 'UPPER')", "Invalid service account name"],
  ["authorizer.group('').resource(' ')", "resource must not be empty"],
];

for (const [source, message] of fails) {
  test(`${source} is an error`, () => assert.equal(run(source).error, message));
}

/** Texts that are no addresses, with the words of Go. */
const noAddresses: readonly (readonly [string, string])[] = [
  ["1.2.3.4.5", "IPv4 address too long"],
  ["1.2.3", "IPv4 address too short"],
  ["1.2.3.", 'IPv4 field must have at least one digit (at ".")'],
  ["1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'],
  ["1.2.3.256", "IPv4 field has value >255"],
  ["1.2.3.04", "IPv4 field has octet with leading zero"],
  ["1.2.x.4", 'unexpected character (at "x.4")'],
  ["a", "unable to parse IP"],
  ["%eth0", "missing IPv6 address"],
  ["::1%", "zone must be a non-empty string"],
  ["2001:db8:::68", 'each colon-separated field must have at least one digit (at ":68")'],
  ["12345::", 'each group must have 4 or less digits (at "12345::")'],
  ["1::2::3", 'multiple :: in address (at ":3")'],
  ["1:2", "address string too short"],
  ["1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'],
  ["1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros"],
  ["1:", 'colon must be followed by more characters (at ":")'],
  ["1:g", 'each colon-separated field must have at least one digit (at "g")'],
  ["1g:2", 'unexpected character, want colon (at "g:2")'],
  ["1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'],
  ["::1.2.3", "IPv4 address too short"],
];

for (const [text, why] of noAddresses) {
  test(`ip('${text}') says why`, () => {
    const says = `IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): ${why}`;
    assert.equal(run(`ip('${text}')`).error, says);
  });
}

test("a literal of two types is refused, and so is a wrong pattern", () => {
  assert.match(run("[1, 'a']").error ?? "", /expected type 'int' but found 'string'/);
  assert.match(run("{'a': 1, 'b': true}").error ?? "", /1:15: expected type 'int' but found 'bool'/);
  assert.match(run("'a'.find('(')").error ?? "", /invalid find argument/);
});

/** Counted by hand from cel-go's rules: variables, fields and calls one each, texts a tenth for each character. */
const costs: readonly (readonly [string, number])[] = [
  ["authorizer.path('/healthz').check('get').allowed()", 350_003],
  ["quantity('50k').isGreaterThan(quantity('1'))", 3],
  ["'abcdefghij'.lowerAscii() == 'x'", 2],
  ["'0123456789012345678901234567890'.find('[0-9]+') == ''", 4 * 2 + 0],
  ["[1, 2, 3].all(x, x > 0)", 3 * 5 + 1],
  ["[3, 2].exists_one(x, x > 2)", 2 + 2 + 2 + 1 + 1],
  ["has({'a': 1}.a)", 1],
  ["[1, 2, 3].map(x, x)", 3 * 13 + 1],
  ["2 in [1, 2]", 0],
  ["[1, 2, 3].all(x, x + x > 1)", 3 * (3 + 4) + 1],
  ["[1, 2, 3].exists(x, !(x * 2 < x))", 4 + 5 + 3 + 1],
  ["[9223372036854775807].exists(x, x + 1 > x)", 4 + 4 + 1],
  ["[1].map(x, [x, x + 1]) == [[1, 2]]", 12 + 10 + 3 + 1 + 1],
  ["(lists.range(100) + lists.range(50)).filter(x, x % 2 == 0).size()", 1600],
  ["[1, 2, 3].sum()", 3],
  ["ip('10.0.0.1') == ip('10.0.0.2')", 3],
];

for (const [source, cost] of costs) {
  test(`${source} costs ${cost}`, () => assert.equal(run(source).cost, cost));
}
