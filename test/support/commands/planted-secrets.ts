const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl';
const KEY = `-----BEGIN RSA PRIVATE KEY-----\n${'QUJD'.repeat(40)}\n-----END RSA PRIVATE KEY-----`;

/** Secrets as they stand in files and logs; the second text must not be left in a bundle. */
export const PLANTED: readonly (readonly [text: string, secret: string])[] = [
  [`token: ${JWT}`, JWT],
  ['password: "hunter2 and more"', 'hunter2'],
  ['{"client-key-data": "TFMwdExTMUNSVWRK", "x": 1}', 'TFMwdExTMUNSVWRK'],
  ['AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY', 'wJalrXUtn'],
  ['curl --token s3cr3t-value https://x', 's3cr3t-value'],
  ['Authorization: Bearer abcdef123456', 'abcdef123456'],
  ['got header Bearer abcdef123456', 'abcdef123456'],
  [`said ${JWT} in the middle`, 'eyJ'],
  ['join --discovery abcdef.0123456789abcdef', 'abcdef.0123456789abcdef'],
  ['key AKIAIOSFODNN7EXAMPLE', 'AKIAIOSFODNN7EXAMPLE'],
  ['https://admin:pa55@registry.example/v2', 'pa55'],
  [KEY, 'QUJD'],
  [KEY.slice(0, 100), 'QUJD'],
  [`ca: ${'QUJDRA'.repeat(40)}`, 'QUJDRAQUJDRA'],
  ["apiKey: 'my key'", 'my key'],
  ['{"name": "DB_PASSWORD",\n "value": "p1ain-hunter3"}', 'p1ain-hunter3'],
  [String.raw`{\"name\":\"DB_PASSWORD\",\"value\":\"esc4ped-hunter\"}`, 'esc4ped-hunter'],
  ['- name: DB_PASSWORD\n  value: y4ml-hunter', 'y4ml-hunter'],
  // Units and programs.
  ['Environment=DB_PASS=hunter2 OTHER=pl4in-other', 'pl4in-other'],
  ['Environment="A_THING=two hidden words" "B=c3d4-hidden"', 'hidden'],
  ['MYSQL_PWD=pwd-hunter4', 'pwd-hunter4'],
  ['curl -u admin:cur1-hunter5 http://x', 'cur1-hunter5'],
  ['"args": ["--token", "s3cr3t-arg"]', 's3cr3t-arg'],
  [String.raw`"args\":[\"--token\",\"s3cr3t-escaped\"]`, 's3cr3t-escaped'],
  ['machine x login me password netrc-hunter6', 'netrc-hunter6'],
  // Clouds.
  ['AccountName=x;AccountKey=azure-abc123==;Endpoint=y', 'azure-abc123'],
  ['https://x.blob/y?sv=2020&sig=aBcD%2F1&se=1', 'aBcD%2F1'],
  ['https://s3/x?X-Amz-Signature=deadbeef1&x=2', 'deadbeef1'],
  ['AWS_SESSION_TOKEN=IQoJb3Jp', 'IQoJb3Jp'],
  ['Authorization: AWS4-HMAC-SHA256 Credential=AK/x, Signature=feedbeef', 'feedbeef'],
  ['{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIabc\\nxyz123\\n-----END PRIVATE KEY-----\\n"}', 'xyz123'],
  // Registries, URLs and services.
  ['{"auths":{"r.example":{"auth":"dXNlcjpwYXNz"}}}', 'dXNlcjpwYXNz'],
  ['  .dockerconfigjson: eyJhdXRocyI6e30K', 'eyJhdXRocyI6e30K'],
  ['//registry.npmjs.org/:_authToken=npm_abcdefgh12345678', 'npm_abcdefgh'],
  ['clone https://ghp_abcdefgh12345678@github.com/x', 'ghp_abc'],
  ['https://user:p@ssw0rd@host/x', 'ssw0rd'],
  ['redis://:redis-hunter8@host:6379', 'redis-hunter8'],
  ['said xoxb-123456789-abcdef', 'xoxb-1234'],
  ['Set-Cookie: a=b; session=cookie-hunter7', 'cookie-hunter7'],
  // Environments of containers and of kubeconfigs, whatever their names.
  ['{"name":"REGISTRY_URL","value":"pl41n"}', 'pl41n'],
  ['exec:\n  env:\n  - name: AWS_X\n    value: pl43n', 'pl43n'],
  ['users:\n- name: u\n  user:\n    token: op4que-t0ken', 'op4que'],
  // Values of several lines, and Secrets.
  ['password: |\n  line-one-hush\n  line-two-hush\nnext: x', 'line-two-hush'],
  ['    private_key: >-\n      aaa-hush1\n      bbb-hush2\n  - name: y', 'bbb-hush2'],
  ['kind: Secret\nmetadata:\n  name: x\ndata:\n  username: YWRtaW4=\n  other: aHVudGVy\ntype: Opaque', 'aHVudGVy'],
  ['{"kind":"Secret","data":{"username":"YWRtaW4=","o":"anNvbi1odW50"}}', 'anNvbi1odW50'],
  [String.raw`"{\"kind\":\"Secret\",\"stringData\":{\"u\":\"ZXNjYXBlZA\"}}"`, 'ZXNjYXBlZA'],
  // A key whose beginning is in another file of the log.
  [
    `${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n'.repeat(2)}MzEfYyjiWA4R4\n-----END KEY-----`,
    'MzEfYyjiWA4R4',
  ],
  ['MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj', 'MIIEvQIB'],
  ['PresharedKey = wg-abcd1234=', 'wg-abcd1234'],
];
