// Messages in plain words that the fake knows an answer to, for looking at the console as people will.
export const scenes = {
  'Reconcile the February invoices against the CRM and tell me what does not match.': String.raw`
think The invoices are in invoices.csv. I should look at its columns first, then ask the CRM for the payments of the same month and compare by invoice number.
say I will read the invoices first, then compare them with what the CRM has.
$ head -3 invoices.csv && wc -l invoices.csv
write reconcile.py: import csv, json, sys\n\ndef rows(path):\n    with open(path, newline="") as file:\n        yield from csv.DictReader(file)\n\ninvoices = {row["number"]: row for row in rows("invoices.csv")}\npayments = {row["invoice"]: row for row in rows("payments.csv")}\n
need CRM_API_KEY for api.crm.example: API key for the CRM, to read the payments of February because The payments are in the CRM, and no credential for it is on file.
$ curl -sS https://api.crm.example/payments?month=2026-02 -o payments.csv
edit reconcile.py: payments = {row["invoice"]: row for row in rows("payments.csv")} -> payments = {row["invoice"]: row for row in rows("payments.csv")}\nmissing = sorted(invoices.keys() - payments.keys())\njson.dump(missing, sys.stdout)
$ python3 reconcile.py
file february.csv: invoice,amount,status\nF-1042,310.00,unpaid\nF-1057,89.90,amount differs\nF-1061,1200.00,unpaid
say Of **214 invoices** in February, 211 match a payment in the CRM. Three do not:\n\n| Invoice | Amount | What is wrong |\n|---|---:|---|\n| F-1042 | 310.00 | no payment |\n| F-1057 | 89.90 | paid 98.90, digits swapped |\n| F-1061 | 1 200.00 | no payment |\n\nThe list is attached. ~~F-1057~~ F-1057 looks like a typing error in the CRM: ask *accounts* before you remind the customer. To run it again:\n\n${'```'}sh\npython3 reconcile.py > february.json\n${'```'}
`,
}

// What the commands of the scenes print.
export const prints = {
  'head -3 invoices.csv && wc -l invoices.csv': 'number,customer,amount,due\nF-1001,Harbour Foods,129.00,2026-02-14\nF-1002,Nordlicht GmbH,2480.00,2026-02-15\n215 invoices.csv\n',
  'curl -sS https://api.crm.example/payments?month=2026-02 -o payments.csv': '  % Total    % Received   Time\n100 18.2k  100 18.2k    0.4s\n',
  'python3 reconcile.py': '["F-1042", "F-1057", "F-1061"]\n',
}
