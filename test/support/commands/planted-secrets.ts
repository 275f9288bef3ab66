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
];
